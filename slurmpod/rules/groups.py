"""Common parts of the rules about instance groups: their documents, the types that they name."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved, ResolvedGroup

GROUPS = ("cluster", "groups")
CATALOG = "slurmpod/data/instance_types.csv"

API = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg/"


def named_types(group: ResolvedGroup) -> Iterator[tuple[str, YamlPath]]:
    """Yield every instance type that a group names, with its place."""
    if group.settings.instance_type:
        yield group.settings.instance_type, (*group.path, "instance_type")
    for number, name in enumerate(group.settings.instance_types):
        yield name, (*group.path, "instance_types", number)


def known_types(group: ResolvedGroup) -> tuple[InstanceType, ...]:
    """Return the facts of the types that a group names, as far as the catalog has them."""
    known = instance_types()
    return tuple(known[name] for name, _ in named_types(group) if name in known)


def all_types_known(resolved: Resolved) -> bool:
    """Return whether the catalog has every instance type that a group names."""
    known = instance_types()
    return all(name in known for group in resolved.groups for name, _ in named_types(group))


def has_efa(group: ResolvedGroup) -> bool:
    """Return whether nodes of the group can have EFA: EC2 may provide any of its types."""
    return any(facts.efa_interfaces for facts in known_types(group))


def may_have_efa(group: ResolvedGroup) -> bool:
    """Return the same for a group with types that are missing from the catalog."""
    known = instance_types()
    return has_efa(group) or any(name not in known for name, _ in named_types(group))
