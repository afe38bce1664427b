"""The cards of a picture: one for each group, file system and database. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.resolve import Resolved, ResolvedGroup, ResolvedLustre

MOST_GROUPS = 8


@dataclass(frozen=True)
class Card:
    """The content of a card, before layout; flows refer to it by its `ids`."""

    kind: str
    zone: str
    ids: tuple[str, ...]
    title: str
    lines: tuple[str, ...]


def cards_of(resolved: Resolved) -> Iterator[Card]:
    """Return all cards; groups beyond those that fit share one."""
    for group in resolved.groups[:MOST_GROUPS]:
        yield _card_of(group)
    if rest := resolved.groups[MOST_GROUPS:]:
        names = tuple(each.name for each in rest)
        nodes = f"{sum(each.count for each in rest)} nodes"
        yield Card("worker", rest[0].zone, names, f"{len(rest)} more groups", (nodes,))
    for lustre in resolved.lustre:
        yield _card_of_lustre(lustre)
    if openzfs := resolved.openzfs:
        gib, path = openzfs.settings.capacity_gib, openzfs.settings.mount_path
        lines = ("FSx for OpenZFS", f"{gib:,} GiB" if gib else "existing")
        yield Card("storage", openzfs.zone, (path,), path, lines)
    if resolved.database and (new := resolved.database.new):
        about = ("RDS for MariaDB", new.settings.instance_class, "job records")
        ids = (new.identifier,)
        yield Card("storage", resolved.network.zone, ids, new.identifier, about)


def _card_of_lustre(lustre: ResolvedLustre) -> Card:
    size = f"{lustre.capacity_gib:,} GiB" if lustre.capacity_gib else ""
    speed = lustre.throughput_mbps_per_tib
    lines = ("FSx for Lustre", size, f"{speed} MB/s per TiB" if speed else "")
    if lustre.settings.existing:
        lines = ("FSx for Lustre", "existing", "")
    path = lustre.settings.mount_path
    return Card("storage", lustre.zone, (path,), path, lines)


def _card_of(group: ResolvedGroup) -> Card:
    facts = group.facts
    chips = ""
    if facts and facts.accelerator_count:
        chips = f"{facts.accelerator_count} x {facts.accelerator} each"
    partition = f"partition {group.partition}" if group.partition else str(group.role)
    nodes = f"{group.count} x {group.instance_type.removeprefix('ml.')}"
    lines = (nodes, chips, partition)
    return Card(str(group.role), group.zone, (group.name,), group.name, lines)
