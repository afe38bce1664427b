"""Lustre file systems that a change replaces, or that refuse it, for what else is true of them.

Source: Amazon FSx API reference, UpdateFileSystemLustreConfiguration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.changes.effect import FILE_SYSTEM_AGAIN, FILE_SYSTEM_LOST, NO_METADATA_LATER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurmpod.changes.effect import Effect
    from slurmpod.resolve import ResolvedLustre


def lustre_changes(
    old: Sequence[ResolvedLustre], new: Sequence[ResolvedLustre]
) -> Iterator[tuple[str, str, Any, Any, Effect]]:
    """Yield name of the file system, key below it, old value, new value and effect."""
    olds = {each.name: each for each in old}
    for after in new:
        before = olds.get(after.name)
        if before is None or before.settings.existing or after.settings.existing:
            continue
        tags = _copies_tags(before), _copies_tags(after)
        if tags[0] != tags[1]:
            yield after.name, "backups.copy_tags", *tags, _replaced(before)
        if _gains_metadata(before, after):
            versions = before.settings.version, after.settings.version
            yield after.name, "version", *versions, NO_METADATA_LATER


def _copies_tags(lustre: ResolvedLustre) -> bool:
    """Tell whether backups get tags, which a file system without backups does not say either."""
    backups = lustre.settings.backups
    return bool(backups and backups.copy_tags)


def _replaced(before: ResolvedLustre) -> Effect:
    return FILE_SYSTEM_LOST if before.settings.on_delete == "delete" else FILE_SYSTEM_AGAIN


def _gains_metadata(before: ResolvedLustre, after: ResolvedLustre) -> bool:
    stays = before.settings.deployment_type == after.settings.deployment_type
    return stays and after.has_metadata_configuration and not before.has_metadata_configuration
