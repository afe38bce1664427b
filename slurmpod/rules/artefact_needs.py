"""Packages that nodes may need, and those of them that the environment does not list."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.resolve import Resolved
from slurmpod.rules.groups import known_types

FOR_CONTAINERS = ("enroot", "enroot_caps", "pyxis")
FOR_BUCKETS = ("mount_s3",)


def needed(resolved: Resolved) -> Sequence[str]:
    """Return the names of packages that what the environment asks for could use."""
    for_containers = FOR_CONTAINERS if resolved.environment.lifecycle.containers else ()
    for_buckets = FOR_BUCKETS if resolved.s3_mounts else ()
    return (*for_containers, *for_buckets)


def is_missing(resolved: Resolved, name: str) -> bool:
    """Tell whether no package of this name is listed for some of the nodes."""
    artefacts = resolved.environment.lifecycle.artefacts
    listed = {each.architecture for each in artefacts if each.name == name}
    return not listed or bool(architectures(resolved) - listed)


def architectures(resolved: Resolved) -> set[str]:
    """Return those of the cluster's instance types, as far as the catalog knows the types."""
    return {facts.architecture for group in resolved.groups for facts in known_types(group)}
