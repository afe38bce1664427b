"""What the rules about instance groups share."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.environment.cluster import Group, Role
from slurmpod.environment.environment import Environment
from slurmpod.problems import YamlPath

GROUPS = ("cluster", "groups")
CATALOG = "slurmpod/data/instance_types.csv"

API = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
GUIDE = "https://docs.aws.amazon.com/sagemaker/latest/dg/"


def at(index: int, *keys: str | int) -> YamlPath:
    """Return the path of something in a group."""
    return (*GROUPS, index, *keys)


def named_types(group: Group) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Yield every instance type that a group names, with its place in the group."""
    if group.instance_type:
        yield group.instance_type, ("instance_type",)
    for number, name in enumerate(group.instance_types):
        yield name, ("instance_types", number)


def known_types(group: Group) -> tuple[InstanceType, ...]:
    """Return the facts of the types that a group names, as far as the catalog has them."""
    known = instance_types()
    return tuple(known[name] for name, _ in named_types(group) if name in known)


def all_types_known(environment: Environment) -> bool:
    """Tell whether the catalog has every instance type that a group names."""
    known = instance_types()
    groups = environment.cluster.groups
    return all(name in known for group in groups for name, _ in named_types(group))


def has_efa(group: Group) -> bool:
    """Tell whether nodes of the group can have EFA: any of its types can be what EC2 gives."""
    return any(facts.efa_interfaces for facts in known_types(group))


def may_have_efa(group: Group) -> bool:
    """Tell the same of a group that also names types which the catalog does not know."""
    known = instance_types()
    return has_efa(group) or any(name not in known for name, _ in named_types(group))


def groups_with(environment: Environment, role: Role) -> list[tuple[int, Group]]:
    """Return the groups of one role with their places in the list."""
    groups = enumerate(environment.cluster.groups)
    return [(index, group) for index, group in groups if group.role is role]
