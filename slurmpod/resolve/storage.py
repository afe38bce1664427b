"""The file systems: FSx settings with defaults, and the number of addresses in use."""

from __future__ import annotations

from slurmpod.environment.facts import fact
from slurmpod.environment.file_systems import StorageType
from slurmpod.environment.lustre import Lustre
from slurmpod.environment.regions import domain_of, partition_of
from slurmpod.environment.storage import OpenZfs, Storage
from slurmpod.problems import YamlPath
from slurmpod.resolve.resolved import LustreFacts, ResolvedLustre, ResolvedOpenZfs

MAIN_LUSTRE = "lustre"
"""Name of the file system that `storage.lustre` describes."""

GIB_PER_SSD_SERVER = 2400
"""Capacity per object storage server, each with one address: 2.4 TiB of SSD (FSx for Lustre user
guide).
"""

GIB_PER_HDD_SERVER = {12: 6000, 40: 1800}
"""The same for HDD, by throughput in MB/s per TiB."""

GIB_PER_EFA_SERVER = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
"""The same for SSD file systems with EFA, by throughput in MB/s per TiB."""

*SMALL_TIERING_MBPS, MBPS_PER_TIERING_SERVER, _ = fact("storage.lustre.throughput_mbps").numbers
"""Throughput per server of an Intelligent-Tiering file system; 1000 and 2000 MB/s have one."""

*SMALL_METADATA_IOPS, METADATA_IOPS_PER_SERVER, _ = fact("storage.lustre.metadata_iops").numbers
"""One metadata server, with one address, per 12,000 metadata operations per second."""

GIB_PER_AUTOMATIC_METADATA_SERVER = 24000
"""Capacity per 12,000 operations if FSx chooses: 24,000 GiB, from 48,000 GiB on."""

AUTOMATIC_METADATA_IOPS = {1200: 1500, 2400: 3000, 9600: 6000, 45600: 12000}
"""FSx's choice below that, by the largest capacity in GiB that has it (FSx for Lustre user guide,
metadata performance).
"""

TIERING_METADATA_IOPS = 6000
"""Default of Intelligent-Tiering: until November 2026 it had no automatic mode, and FSx cannot
reduce a file system's operations.
"""

METADATA_VERSION = "2.15"
"""The first Lustre version with metadata configuration."""

DEFAULT_THROUGHPUT = {
    ("PERSISTENT_2", StorageType.SSD): 250,
    ("PERSISTENT_1", StorageType.SSD): 50,
    ("PERSISTENT_1", StorageType.HDD): 12,
}
"""Default MB/s per TiB; types that are missing take no such value."""

OPENZFS_MOUNT_NAME = "fsx"
"""The root volume of every OpenZFS file system, below `/` of its NFS server."""

OPENZFS_LEAST_THROUGHPUT = {1: 64, 2: 160}
"""MB/s by generation of the deployment type (FSx for OpenZFS user guide)."""

NEWEST_OPENZFS_LEAST = OPENZFS_LEAST_THROUGHPUT[2]
"""For newer generations: the minimum of the newest known one."""


def resolve_all_lustre(storage: Storage, region: str, zone: str) -> tuple[ResolvedLustre, ...]:
    """Resolve the main file system and then the additional ones; all are in `zone`."""
    found = []
    if storage.lustre:
        place: YamlPath = ("storage", "lustre")
        found.append(_resolve_lustre(MAIN_LUSTRE, place, storage.lustre, region, zone))
    for index, lustre in enumerate(storage.additional_lustre):
        place = ("storage", "additional_lustre", index)
        found.append(_resolve_lustre(lustre.name, place, lustre, region, zone))
    return tuple(found)


def resolve_openzfs(openzfs: OpenZfs | None, region: str, zone: str) -> ResolvedOpenZfs | None:
    """Resolve the OpenZFS file system.

    HA types have two servers and a floating address.
    """
    if openzfs is None:
        return None
    addresses = 3 if "_HA_" in openzfs.deployment_type else 1
    return ResolvedOpenZfs(
        path=("storage", "openzfs"),
        settings=openzfs,
        zone=zone,
        throughput_mbps=openzfs_throughput_mbps(openzfs),
        addresses=0 if openzfs.existing else addresses,
        dns_name=_dns_name(openzfs.existing.id, region) if openzfs.existing else None,
    )


def openzfs_throughput_mbps(openzfs: OpenZfs) -> int:
    """Return the throughput: the user's, or the minimum of the deployment type."""
    generation = openzfs_generation(openzfs)
    return openzfs.throughput_mbps or OPENZFS_LEAST_THROUGHPUT.get(generation, NEWEST_OPENZFS_LEAST)


def openzfs_generation(openzfs: OpenZfs) -> int:
    """Return the generation of the deployment type, the last character of its name."""
    return int(openzfs.deployment_type.rpartition("_")[2])


def lustre_facts(lustre: Lustre) -> LustreFacts:
    """Return the FSx settings of a file system."""
    is_tiering = lustre.storage_type is StorageType.INTELLIGENT_TIERING
    default_throughput = DEFAULT_THROUGHPUT.get((lustre.deployment_type, lustre.storage_type))
    return LustreFacts(
        settings=lustre,
        capacity_gib=None if is_tiering else lustre.capacity_gib,
        throughput_mbps_per_tib=lustre.throughput_mbps_per_tib or default_throughput,
        throughput_mbps=lustre.throughput_mbps or (MBPS_PER_TIERING_SERVER if is_tiering else None),
        has_metadata_configuration=_has_metadata_configuration(lustre),
        metadata_iops=_metadata_iops(lustre),
    )


def _resolve_lustre(
    name: str, path: YamlPath, lustre: Lustre, region: str, zone: str
) -> ResolvedLustre:
    facts = lustre_facts(lustre)
    servers = _servers(lustre, facts.throughput_mbps_per_tib, facts.metadata_iops)
    return ResolvedLustre(
        **vars(facts),
        name=name,
        path=path,
        zone=zone,
        addresses=0 if lustre.existing else servers,
        dns_name=_dns_name(lustre.existing.id, region) if lustre.existing else None,
    )


def automatic_metadata_iops(capacity_gib: int) -> int:
    """Return the metadata operations per second that FSx chooses for a capacity on SSD.

    Its rounding is not documented; rounding up here ensures enough addresses.
    """
    for most_gib, iops in AUTOMATIC_METADATA_IOPS.items():
        if capacity_gib <= most_gib:
            return iops
    return _begun(capacity_gib, GIB_PER_AUTOMATIC_METADATA_SERVER) * METADATA_IOPS_PER_SERVER


def _metadata_iops(lustre: Lustre) -> int | None:
    """Return the metadata operations per second; None if FSx chooses."""
    is_tiering = lustre.storage_type is StorageType.INTELLIGENT_TIERING
    if lustre.metadata_iops is None and is_tiering:
        return TIERING_METADATA_IOPS
    return lustre.metadata_iops or None


def _servers(lustre: Lustre, throughput: int | None, metadata_iops: int | None) -> int:
    """Return the number of servers of a file system, each of which takes an address."""
    metadata_servers = _metadata_servers(lustre, metadata_iops)
    if lustre.storage_type is StorageType.INTELLIGENT_TIERING:
        return metadata_servers + _begun(lustre.throughput_mbps or 1, MBPS_PER_TIERING_SERVER)
    gib_per_server = GIB_PER_SSD_SERVER
    if lustre.storage_type is StorageType.HDD:
        gib_per_server = GIB_PER_HDD_SERVER.get(throughput or 0, gib_per_server)
    elif lustre.efa:
        gib_per_server = GIB_PER_EFA_SERVER.get(throughput or 0, gib_per_server)
    return metadata_servers + _begun(lustre.capacity_gib, gib_per_server)


def _metadata_servers(lustre: Lustre, metadata_iops: int | None) -> int:
    """Return the number of metadata servers; 1 if FSx chooses by throughput (undocumented)."""
    is_by_capacity = lustre.storage_type is not StorageType.INTELLIGENT_TIERING
    if not metadata_iops and is_by_capacity and _has_metadata_configuration(lustre):
        metadata_iops = automatic_metadata_iops(lustre.capacity_gib)
    return _begun(metadata_iops or 1, METADATA_IOPS_PER_SERVER)


def _has_metadata_configuration(lustre: Lustre) -> bool:
    is_persistent_2 = lustre.deployment_type == "PERSISTENT_2"
    return is_persistent_2 and not is_older(lustre.version, METADATA_VERSION)


def is_older(version: str, than: str) -> bool:
    """Compare versions, which are texts such as 2.15."""
    one, other = (tuple(map(int, each.split("."))) for each in (version, than))
    return one < other


def _begun(amount: int, step: int) -> int:
    """Return the number of steps, rounded up."""
    return -(-amount // step)


def _dns_name(file_system_id: str, region: str) -> str:
    return f"{file_system_id}.fsx.{region}.{domain_of(partition_of(region))}"
