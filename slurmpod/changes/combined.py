"""Changes whose effect depends on several fields, some of them unchanged.

Sources: Amazon FSx API reference, UpdateFileSystem and the configurations that it takes,
CreateDataRepositoryAssociation; FSx for Lustre user guide, "Managing throughput capacity" and
"Managing provisioned SSD read cache".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slurmpod.changes.change import Change, FieldPath
from slurmpod.changes.replacements import copies_tags
from slurmpod.environment.base import (
    CLUSTER_AGAIN,
    FILE_SYSTEM_AGAIN,
    MIGRATION_GUIDE,
    REPLACEMENT,
    Effect,
    Kind,
    effect_of,
)
from slurmpod.environment.cluster import Group
from slurmpod.environment.environment import Environment
from slurmpod.environment.file_systems import StorageType
from slurmpod.environment.lustre import LINK_AGAIN, DataRepository, Lustre
from slurmpod.environment.storage import OpenZfs
from slurmpod.resolve import Resolved, ResolvedLustre
from slurmpod.resolve.storage import MAIN_LUSTRE, automatic_metadata_iops

FILE_SYSTEM_LOST = Effect(
    Kind.LOSES, "a new, empty file system is created; the old one is deleted with its data"
)
NO_METADATA_LATER = Effect(
    Kind.REFUSED,
    "FSx refuses: this version comes with a metadata configuration, which cannot be added later",
    source="FSx API reference, UpdateFileSystemLustreMetadataConfiguration",
)
THROUGHPUT_STAYS = Effect(
    Kind.REFUSED,
    "FSx refuses: with EFA, and on HDD, it is fixed at creation",
    source='FSx for Lustre user guide, "Managing throughput capacity"',
)
SMALL_CAPACITY_STEP = Effect(
    Kind.REFUSED,
    "FSx refuses: it takes at least 10 percent more at a time",
    source="FSx API reference, UpdateFileSystem, StorageCapacity",
)
SMALL_CACHE_STEP = Effect(
    Kind.REFUSED,
    "FSx refuses: a read cache can only grow or shrink by at least 10 percent",
    source='FSx for Lustre user guide, "Managing provisioned SSD read cache"',
)
BLOCKS_AGAIN = Effect(
    Kind.REFUSED,
    "a block cannot be associated again while it still is: add and remove blocks at the end of the "
    "list only",
    source=REPLACEMENT,
)
"""The replacement that CloudFormation would attempt if a block takes another's place in the list.
"""

ZONES_AGAIN = Effect(
    Kind.REFUSED,
    "subnets are numbered as the zones are, and one in use cannot be replaced by another: add and "
    "remove zones at the end of the list only",
    source=f"{REPLACEMENT}; EC2 API reference, DeleteSubnet",
)

PUBLIC_SUBNETS_AGAIN = Effect(
    Kind.REFUSED,
    "the public subnets of the other zones would get other ranges, and subnets in use cannot be "
    "replaced: make a new environment with a larger vpc_cidr",
    source=f"{REPLACEMENT}; EC2 API reference, DeleteSubnet",
)

UNNOTIFIED = Effect(
    Kind.LOSES,
    "topics, rules and alarms of the stack monitoring are deleted, only the budget stays in it, "
    "as a new one without history; delete the stack cluster-watch, whose alarms no longer "
    "notify anyone",
)
"""Effect of removing the section if a budget keeps its stack."""

TYPE_OF_A_SCALED_ENDPOINT = Effect(
    Kind.REFUSED,
    "SageMaker refuses another type while scaling is on: remove "
    "services.endpoint.scaling, deploy, then change both",
    source='SageMaker developer guide, "Update endpoints that use auto scaling"',
)

BACK_TO_CUSTOMER = replace(CLUSTER_AGAIN, source=MIGRATION_GUIDE, doubt="")
BACK_TO_STANDARD = replace(
    CLUSTER_AGAIN,
    source="SageMaker API reference, UpdateCluster: NodeProvisioningMode has the value Continuous "
    "and no other",
    doubt="",
)
OTHER_SCRIPTS = Effect(
    Kind.NEW_NODES,
    "changed in place; nodes that run keep what they have until they are replaced",
    of_cluster=True,
    doubt="AWS documents no way for a group to lose its scripts when UpdateCluster names none",
)
"""Effect if HyperPod configures Slurm both before and after."""

LEAST_STEP_PERCENT = 10
"""Smallest change of the capacity of OpenZFS and of the read cache of Lustre."""


def changes_of_several_fields(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield these changes, some of them of unchanged fields."""
    yield from _file_systems(before, after)
    yield from _other_mode(before, after)
    yield from _other_provisioning(before, after)
    yield from _renamed_partitions(before, after)
    yield from _blocks_in_other_places(before, after)
    yield from _subnets_in_other_places(before, after)
    yield from _watching_beside_a_budget(before, after)
    yield from _type_of_a_scaled_endpoint(before, after)


def _other_mode(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield changes of the mode other than those from customer mode, which the field describes."""
    old, new = before.lifecycle.mode, after.lifecycle.mode
    if old in (new, "customer"):
        return
    effect = BACK_TO_CUSTOMER if new == "customer" else OTHER_SCRIPTS
    yield FieldPath().below("lifecycle").below("mode").change(old, new, effect)


def _other_provisioning(before: Resolved, after: Resolved) -> Iterator[Change]:
    if before.continuous and not after.continuous:
        at = FieldPath().below("cluster").below("provisioning")
        yield at.change("continuous", "standard", BACK_TO_STANDARD)


def _renamed_partitions(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield changed partitions that only the bundle names, as in customer mode."""
    if (before.lifecycle.mode, after.lifecycle.mode) != ("customer", "customer"):
        return
    olds = {group.name: group.partition for group in before.groups}
    groups = FieldPath().below("cluster").below("groups")
    for index, group in enumerate(after.groups):
        old = olds.get(group.name)
        if old and group.partition and old != group.partition:
            at = groups.below(index, shown_as=group.name).below("partition")
            effect = effect_of(Group.model_fields["partition"])
            yield at.change(old, group.partition, effect.in_customer_mode or effect)


def _blocks_in_other_places(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield the change of a VPC's blocks unless only the last ones were added or removed."""
    old, new = before.network.secondary_cidrs, after.network.secondary_cidrs
    both = min(len(old), len(new))
    if old[:both] != new[:both]:
        at = FieldPath().below("network").below("secondary_cidrs")
        yield at.change([*map(str, old)], [*map(str, new)], BLOCKS_AGAIN)


def _subnets_in_other_places(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield the change of a VPC's zones unless only the last subnets were added or removed."""
    old, new = before.network, after.network
    if old.existing or new.existing or old.zone != new.zone or old.vpc_cidr != new.vpc_cidr:
        return
    both = min(len(old.zones), len(new.zones))
    public = tuple(zip(old.public, new.public, strict=False))
    at = FieldPath().below("network").below("other_zones")
    if old.zones[:both] != new.zones[:both]:
        yield at.change([*old.zones[1:]], [*new.zones[1:]], ZONES_AGAIN)
    elif any(one.cidr != other.cidr for one, other in public):
        yield at.change([*old.zones[1:]], [*new.zones[1:]], PUBLIC_SUBNETS_AGAIN)


def _watching_beside_a_budget(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield the removal of monitoring if its stack stays for the budget."""
    if before.monitoring and not after.monitoring and after.stacks.monitoring:
        old = before.monitoring.model_dump(mode="json")
        yield FieldPath().below("monitoring").change(old, None, UNNOTIFIED)


def _type_of_a_scaled_endpoint(before: Resolved, after: Resolved) -> Iterator[Change]:
    old, new = (each.environment.services.endpoint for each in (before, after))
    if old and new and old.scaling and new.instance_type != old.instance_type:
        at = FieldPath().below("services").below("endpoint").below("instance_type")
        yield at.change(old.instance_type, new.instance_type, TYPE_OF_A_SCALED_ENDPOINT)


def _file_systems(before: Resolved, after: Resolved) -> Iterator[Change]:
    """Yield these changes of file systems that slurmpod owns before and after."""
    olds = {each.name: each for each in before.lustre}
    for new in after.lustre:
        old = olds.get(new.name)
        if old and not old.settings.existing and not new.settings.existing:
            yield from _lustre_changes(old, new, _lustre_place(new.name, after.environment))
    if before.openzfs and after.openzfs:
        at = FieldPath().below("storage").below("openzfs")
        yield from _openzfs_changes(before.openzfs.settings, after.openzfs.settings, at)


def _lustre_place(name: str, wanted: Environment) -> FieldPath:
    at = FieldPath().below("storage")
    if name == MAIN_LUSTRE:
        return at.below("lustre")
    index = [each.name for each in wanted.storage.additional_lustre].index(name)
    return at.below("additional_lustre").below(index, shown_as=name)


def _lustre_changes(old: ResolvedLustre, new: ResolvedLustre, at: FieldPath) -> Iterator[Change]:
    tags = copies_tags(old), copies_tags(new)
    if tags[0] != tags[1]:
        replaced = FILE_SYSTEM_LOST if old.settings.on_delete == "delete" else FILE_SYSTEM_AGAIN
        yield at.below("backups").below("copy_tags").change(*tags, replaced)
    elif not _is_replaced(old.settings, new.settings):
        for key, effect in _refused(old, new):
            values = getattr(old.settings, key), getattr(new.settings, key)
            yield at.below(key).change(*values, effect)
        yield from _overlapping_links(old, new, at.below("data_repositories"))


def _is_replaced(old: Lustre | OpenZfs, new: Lustre | OpenZfs) -> bool:
    """Return whether a new file system is created, for which every setting is allowed."""
    fields = type(new).model_fields.items()
    again = (key for key, field in fields if effect_of(field).kind is Kind.REPLACES)
    return any(getattr(old, key) != getattr(new, key) for key in again)


def _refused(old: ResolvedLustre, new: ResolvedLustre) -> Iterator[tuple[str, Effect]]:
    """Yield the settings that FSx refuses to change in this way, with the reason."""
    if not old.has_metadata_configuration and new.has_metadata_configuration:
        yield "version", NO_METADATA_LATER
    cannot_scale = new.settings.efa or new.settings.storage_type is StorageType.HDD
    if cannot_scale and old.throughput_mbps_per_tib != new.throughput_mbps_per_tib:
        yield "throughput_mbps_per_tib", THROUGHPUT_STAYS
    if old.metadata_iops != new.metadata_iops and _metadata_iops(old) > _metadata_iops(new):
        effect = effect_of(Lustre.model_fields["metadata_iops"])
        yield "metadata_iops", effect.less or effect
    caches = old.settings.read_cache_gib, new.settings.read_cache_gib
    if caches[0] and caches[1] and _is_small_step(caches[0], caches[1]):
        yield "read_cache_gib", SMALL_CACHE_STEP


def _metadata_iops(lustre: ResolvedLustre) -> int:
    """Return the file system's metadata IOPS, set by the user or chosen by FSx.

    AWS does not document the value that FSx chooses for a throughput. It counts as 0, so that
    replacing it with a set value is never reported as refused, and replacing a set value with it
    is.
    """
    if not lustre.has_metadata_configuration:
        return 0
    if lustre.settings.storage_type is StorageType.INTELLIGENT_TIERING:
        return lustre.metadata_iops or 0
    return lustre.metadata_iops or automatic_metadata_iops(lustre.settings.capacity_gib)


def _is_small_step(old: int, new: int) -> bool:
    return old != new and 100 * abs(new - old) < LEAST_STEP_PERCENT * old


def _overlapping_links(old: ResolvedLustre, new: ResolvedLustre, at: FieldPath) -> Iterator[Change]:
    """Yield the new links that overlap old ones, which CloudFormation deletes only afterwards."""
    olds = {each.path: each for each in old.settings.data_repositories}
    for index, link in enumerate(new.settings.data_repositories):
        if link.path not in olds and any(_overlap(link, other) for other in olds.values()):
            place = at.below(index, shown_as=link.path)
            yield place.change(None, link.model_dump(mode="json"), LINK_AGAIN)


def _overlap(one: DataRepository, other: DataRepository) -> bool:
    pairs = ((one.path, other.path), (one.s3_uri, other.s3_uri))
    folders = [[f"{each.rstrip('/')}/" for each in pair] for pair in pairs]
    return any(a.startswith(b) or b.startswith(a) for a, b in folders)


def _openzfs_changes(old: OpenZfs, new: OpenZfs, at: FieldPath) -> Iterator[Change]:
    sizes = old.capacity_gib, new.capacity_gib
    grows = sizes[0] < sizes[1] and not new.existing
    if grows and _is_small_step(*sizes) and not _is_replaced(old, new):
        yield at.below("capacity_gib").change(*sizes, SMALL_CAPACITY_STEP)
