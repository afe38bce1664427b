"""Which packages nodes may need, and for which of them the environment lists none."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.environment.environment import Environment
from slurmpod.rules.groups import known_types

FOR_CONTAINERS = ("enroot", "enroot_caps", "pyxis")
FOR_BUCKETS = ("mount_s3",)


def needed(environment: Environment) -> Sequence[str]:
    """Return the names of packages that what the environment asks for could use."""
    for_containers = FOR_CONTAINERS if environment.lifecycle.containers else ()
    for_buckets = FOR_BUCKETS if environment.storage.s3_mounts else ()
    return (*for_containers, *for_buckets)


def is_missing(environment: Environment, name: str) -> bool:
    """Tell whether no package of this name is listed for some of the nodes."""
    listed = {each.architecture for each in environment.lifecycle.artefacts if each.name == name}
    return not listed or bool(architectures(environment) - listed)


def architectures(environment: Environment) -> set[str]:
    """Return those of the cluster's instance types, as far as the catalog knows the types."""
    groups = environment.cluster.groups
    return {facts.architecture for group in groups for facts in known_types(group)}
