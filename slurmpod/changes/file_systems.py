"""File systems that a change replaces, or that refuse it, for what else is true of them.

Sources: Amazon FSx API reference, UpdateFileSystem and the configurations that it takes,
CreateDataRepositoryAssociation; FSx for Lustre user guide, "Managing throughput capacity" and
"Managing provisioned SSD read cache".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.changes.change import Place
from slurmpod.changes.effect import (
    FILE_SYSTEM_AGAIN,
    FILE_SYSTEM_LOST,
    LINK_AGAIN,
    NO_METADATA_LATER,
    SMALL_CACHE_STEP,
    SMALL_CAPACITY_STEP,
    THROUGHPUT_STAYS,
    Kind,
)
from slurmpod.changes.effects_of_storage import LESS_STORAGE, STORAGE
from slurmpod.model.file_systems import StorageType
from slurmpod.model.lustre import Lustre
from slurmpod.resolve.storage import MAIN_LUSTRE, automatic_metadata_iops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.changes.change import Change
    from slurmpod.changes.effect import Effect
    from slurmpod.model.environment import Environment
    from slurmpod.model.lustre import DataRepository
    from slurmpod.model.openzfs import OpenZfs
    from slurmpod.resolve import Resolved, ResolvedLustre

LEAST_STEP_PERCENT = 10
"""By which the capacity of OpenZFS and the read cache of Lustre change at least."""


def file_system_changes(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield these changes of the file systems that are slurmpod's before and after."""
    olds = {each.name: each for each in before.lustre}
    for new in after.lustre:
        old = olds.get(new.name)
        if old and not old.settings.existing and not new.settings.existing:
            yield from _lustre_changes(old, new, _lustre_place(new.name, after.environment))
    if before.openzfs and after.openzfs:
        at = Place().below("storage").below("openzfs")
        yield from _openzfs_changes(before.openzfs.settings, after.openzfs.settings, at)


def _lustre_place(name: str, wanted: Environment) -> Place:
    at = Place().below("storage")
    if name == MAIN_LUSTRE:
        return at.below("lustre")
    index = [each.name for each in wanted.storage.additional_lustre].index(name)
    return at.below("additional_lustre").below(index, shown_as=name)


def _lustre_changes(old: ResolvedLustre, new: ResolvedLustre, at: Place) -> Iterator[Change]:
    tags = _copies_tags(old), _copies_tags(new)
    if tags[0] != tags[1]:
        replaced = FILE_SYSTEM_LOST if old.settings.on_delete == "delete" else FILE_SYSTEM_AGAIN
        yield at.below("backups").below("copy_tags").change(*tags, replaced)
    elif not _is_replaced(old.settings, new.settings):
        for key, effect in _refused(old, new):
            values = getattr(old.settings, key), getattr(new.settings, key)
            yield at.below(key).change(*values, effect)
        yield from _overlapping_links(old, new, at.below("data_repositories"))


def _copies_tags(lustre: ResolvedLustre) -> bool:
    """Tell whether backups get tags, which a file system without backups does not say either."""
    backups = lustre.settings.backups
    return bool(backups and backups.copy_tags)


def _is_replaced(old: Lustre | OpenZfs, new: Lustre | OpenZfs) -> bool:
    """Tell whether a new file system is made, which may begin with everything."""
    effects = STORAGE[type(new)].items()
    again = (key for key, effect in effects if effect.kind is Kind.REPLACES)
    return any(getattr(old, key) != getattr(new, key) for key in again)


def _refused(old: ResolvedLustre, new: ResolvedLustre) -> Iterator[tuple[str, Effect]]:
    """Yield the settings that FSx does not change so, with the reason."""
    if not old.has_metadata_configuration and new.has_metadata_configuration:
        yield "version", NO_METADATA_LATER
    cannot_scale = new.settings.efa or new.settings.storage_type is StorageType.HDD
    if cannot_scale and old.throughput_mbps_per_tib != new.throughput_mbps_per_tib:
        yield "throughput_mbps_per_tib", THROUGHPUT_STAYS
    if old.metadata_iops != new.metadata_iops and _metadata_iops(old) > _metadata_iops(new):
        yield "metadata_iops", LESS_STORAGE[Lustre, "metadata_iops"]
    caches = old.settings.read_cache_gib, new.settings.read_cache_gib
    if caches[0] and caches[1] and _is_small_step(caches[0], caches[1]):
        yield "read_cache_gib", SMALL_CACHE_STEP


def _metadata_iops(lustre: ResolvedLustre) -> int:
    """Return the metadata operations that the file system has, whoever chooses them."""
    if not lustre.has_metadata_configuration:
        return 0
    return lustre.metadata_iops or automatic_metadata_iops(lustre.settings.capacity_gib)


def _is_small_step(old: int, new: int) -> bool:
    return old != new and 100 * abs(new - old) < LEAST_STEP_PERCENT * old


def _overlapping_links(old: ResolvedLustre, new: ResolvedLustre, at: Place) -> Iterator[Change]:
    """Yield the new links that overlap old ones: CloudFormation deletes those only afterwards."""
    olds = {each.path: each for each in old.settings.data_repositories}
    for index, link in enumerate(new.settings.data_repositories):
        if link.path not in olds and any(_overlap(link, other) for other in olds.values()):
            place = at.below(index, shown_as=link.path)
            yield place.change(None, link.model_dump(mode="json"), LINK_AGAIN)


def _overlap(one: DataRepository, other: DataRepository) -> bool:
    pairs = ((one.path, other.path), (one.s3_uri, other.s3_uri))
    folders = [[f"{each.rstrip('/')}/" for each in pair] for pair in pairs]
    return any(a.startswith(b) or b.startswith(a) for a, b in folders)


def _openzfs_changes(old: OpenZfs, new: OpenZfs, at: Place) -> Iterator[Change]:
    sizes = old.capacity_gib, new.capacity_gib
    grows = sizes[0] < sizes[1] and not new.existing
    if grows and _is_small_step(*sizes) and not _is_replaced(old, new):
        yield at.below("capacity_gib").change(*sizes, SMALL_CAPACITY_STEP)
