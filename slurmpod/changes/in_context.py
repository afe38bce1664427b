"""Changes whose effect depends on more than the field and its two values: see `effects`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.changes.change import Place
from slurmpod.changes.effects import IN_CUSTOMER_MODE
from slurmpod.changes.effects_of_network import (
    BLOCKS_AGAIN,
    PUBLIC_SUBNETS_AGAIN,
    ZONES_AGAIN,
)
from slurmpod.changes.effects_of_watching import NOBODY_TOLD
from slurmpod.changes.file_systems import file_system_changes
from slurmpod.model.cluster import Group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.changes.change import Change
    from slurmpod.resolve import Resolved


def in_context(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield these changes; some are of fields that are written as before."""
    yield from file_system_changes(before, after)
    yield from _renamed_partitions(before, after)
    yield from _blocks_in_other_places(before, after)
    yield from _subnets_in_other_places(before, after)
    yield from _watching_beside_a_budget(before, after)


def _renamed_partitions(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield the partitions that only the bundle names: the request does not in customer mode."""
    if (before.lifecycle.mode, after.lifecycle.mode) != ("customer", "customer"):
        return
    olds = {group.name: group.partition for group in before.groups}
    groups = Place().below("cluster").below("groups")
    for index, group in enumerate(after.groups):
        old = olds.get(group.name)
        if old and group.partition and old != group.partition:
            at = groups.below(index, shown_as=group.name).below("partition")
            yield at.change(old, group.partition, IN_CUSTOMER_MODE[Group, "partition"])


def _blocks_in_other_places(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield the blocks of a VPC when others than the last ones came or went."""
    old, new = before.network.secondary_cidrs, after.network.secondary_cidrs
    both = min(len(old), len(new))
    if old[:both] != new[:both]:
        at = Place().below("network").below("secondary_cidrs")
        yield at.change([*map(str, old)], [*map(str, new)], BLOCKS_AGAIN)


def _subnets_in_other_places(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield the zones of a VPC when other subnets than the last ones came, went, or moved."""
    old, new = before.network, after.network
    if old.existing or new.existing or old.zone != new.zone or old.vpc_cidr != new.vpc_cidr:
        return
    both = min(len(old.zones), len(new.zones))
    public = tuple(zip(old.public, new.public, strict=False))
    at = Place().below("network").below("other_zones")
    if old.zones[:both] != new.zones[:both]:
        yield at.change([*old.zones[1:]], [*new.zones[1:]], ZONES_AGAIN)
    elif any(one.cidr != other.cidr for one, other in public):
        yield at.change([*old.zones[1:]], [*new.zones[1:]], PUBLIC_SUBNETS_AGAIN)


def _watching_beside_a_budget(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield monitoring when it goes, and the stack that told people stays for its budget."""
    if before.monitoring and not after.monitoring and after.stacks.monitoring:
        old = before.monitoring.model_dump(mode="json")
        yield Place().below("monitoring").change(old, None, NOBODY_TOLD)
