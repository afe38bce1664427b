"""Rules for FSx for Lustre with Intelligent-Tiering, which is sized by throughput alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.file_systems import StorageType
from slurmpod.resolve.storage import MBPS_PER_TIERING_SERVER, METADATA_VERSION
from slurmpod.rules.file_systems import API, CREATE_FILE_SYSTEM, CREATE_LUSTRE, new_lustre
from slurmpod.rules.registry import Area

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved
    from slurmpod.rules.file_systems import PlacedLustre
    from slurmpod.rules.registry import Finding

TIERING = Area("TIE", "Intelligent-Tiering")

READ_CACHE = f"{API}/API_LustreReadCacheConfiguration.html"

SMALLEST_CACHE_GIB = 32
LARGEST_CACHE_GIB = 131_072
"""Both for every 4000 MB/s of throughput."""


@TIERING.rule(
    "TIE-001",
    "Intelligent-Tiering has no capacity",
    why="It grows and shrinks with the data; FSx refuses a capacity.",
    fix="remove the key",
    source=CREATE_FILE_SYSTEM,
)
def _capacity(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(environment, resolved):
        if "capacity_gib" in each.settings.model_fields_set:
            message = "INTELLIGENT_TIERING takes no capacity"
            yield each.finding("capacity_gib", message, at_key=True)


@TIERING.rule(
    "TIE-002",
    "Only Intelligent-Tiering has a throughput of its own and a read cache",
    why="The throughput of SSD and HDD follows from their capacity, and they take no read cache.",
    fix="remove the key, or choose storage_type INTELLIGENT_TIERING",
    source=CREATE_LUSTRE,
)
def _others(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        settings = each.settings
        if settings.storage_type is StorageType.INTELLIGENT_TIERING:
            continue
        given = {
            "throughput_mbps": settings.throughput_mbps,
            "read_cache_gib": settings.read_cache_gib,
        }
        for key, value in given.items():
            if value is not None:
                message = f"{settings.storage_type.value} takes no {key}"
                yield each.finding(key, message, at_key=True)


@TIERING.rule(
    "TIE-003",
    "The throughput is a multiple of 4000 MB/s",
    why="Every server of an Intelligent-Tiering file system brings 4000 MB/s.",
    fix="write a multiple of 4000",
    source=CREATE_LUSTRE,
)
def _throughput(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(environment, resolved):
        mbps = each.settings.throughput_mbps or MBPS_PER_TIERING_SERVER
        if mbps % MBPS_PER_TIERING_SERVER:
            below = mbps // MBPS_PER_TIERING_SERVER * MBPS_PER_TIERING_SERVER
            fix = f"write {below} or {below + MBPS_PER_TIERING_SERVER}"
            yield each.finding("throughput_mbps", f"{mbps} MB/s is no multiple of 4000", fix)


@TIERING.rule(
    "TIE-004",
    "The read cache fits the throughput",
    why="FSx spreads the cache over the servers: 32 to 131072 GiB for every 4000 MB/s, or none.",
    fix="choose another size, write 0 for no cache, or remove the key: FSx then sizes it in "
    "proportion to throughput",
    source=READ_CACHE,
)
def _read_cache(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(environment, resolved):
        gib = each.settings.read_cache_gib
        servers = (each.resolved.throughput_mbps or 0) // MBPS_PER_TIERING_SERVER
        least, most = servers * SMALLEST_CACHE_GIB, servers * LARGEST_CACHE_GIB
        if gib and servers and not least <= gib <= most:
            message = (
                f"{servers * MBPS_PER_TIERING_SERVER} MB/s have a cache of {least} to {most} GiB"
            )
            yield each.finding("read_cache_gib", message)


@TIERING.rule(
    "TIE-005",
    f"Intelligent-Tiering has Lustre {METADATA_VERSION}",
    why="It cannot be without a metadata configuration, which older versions do not have.",
    fix=f"write {METADATA_VERSION}, or remove the key",
    source=CREATE_FILE_SYSTEM,
)
def _version(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(environment, resolved):
        if each.settings.version != METADATA_VERSION:
            message = f"INTELLIGENT_TIERING has no Lustre {each.settings.version}"
            yield each.finding("version", message)


def _tiering(environment: Environment, resolved: Resolved) -> Iterator[PlacedLustre]:
    """Return the new Intelligent-Tiering file systems that are possible at all."""
    for each in new_lustre(environment, resolved):
        is_tiering = each.settings.storage_type is StorageType.INTELLIGENT_TIERING
        if is_tiering and each.settings.deployment_type == "PERSISTENT_2":
            yield each
