"""Refusals of FSx for OpenZFS, at creation and in updates. Pure.

Sources: API reference of CreateFileSystem and its OpenZFS configuration; FSx for OpenZFS user
guide, "Performance". The messages are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_aws.errors import ServiceError
from embedded_aws.fsx.refusals import bad_request

THROUGHPUTS = {
    1: (64, 128, 256, 512, 1024, 2048, 3072, 4096),
    2: (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240),
}
"""MB/s, by the generation at the end of the deployment type."""

_CAPACITIES_GIB = range(64, 524288 + 1)
_IOPS_PER_GIB = 3
_MOST_IOPS = {1: 160_000, 2: 400_000}
_RECORD_SIZES_KIB = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_GROWTH_PERCENT = 10


def openzfs_refusals(request: Mapping[str, Any]) -> Iterator[ServiceError]:
    """Yield every reason why FSx refuses to create this OpenZFS file system."""
    settings = request.get("OpenZFSConfiguration")
    if settings is None:
        yield bad_request("OpenZFSConfiguration is required for OPENZFS")
        return
    if settings["DeploymentType"] == "MULTI_AZ_1":
        yield bad_request("MULTI_AZ_1 is not supported by the embedded AWS")
        return
    if len(request["SubnetIds"]) != 1:
        yield bad_request("Exactly one subnet ID must be provided for a Single-AZ file system")
    if request.get("StorageType", "SSD") != "SSD":
        yield bad_request(f"StorageType {request['StorageType']} needs a Multi-AZ file system")
    if "FileSystemTypeVersion" in request:
        yield bad_request("FileSystemTypeVersion is for Lustre file systems")
    for name in ("EndpointIpAddressRange", "PreferredSubnetId", "RouteTableIds"):
        if name in settings:
            yield bad_request(f"{name} is for Multi-AZ file systems")
    yield from size_rules(request)
    yield from _volume_rules(settings.get("RootVolumeConfiguration", {}))


def size_rules(request: Mapping[str, Any]) -> Iterator[ServiceError]:
    """Yield the errors in capacity, throughput and IOPS, also of an update."""
    settings, capacity = request["OpenZFSConfiguration"], request.get("StorageCapacity", 0)
    generation = generation_of(settings)
    if capacity not in _CAPACITIES_GIB:
        yield bad_request(
            f"StorageCapacity must be from {_CAPACITIES_GIB[0]} to {_CAPACITIES_GIB[-1]} GiB, "
            f"not {capacity}"
        )
        return
    if settings["ThroughputCapacity"] not in THROUGHPUTS[generation]:
        yield bad_request(
            f"ThroughputCapacity of {settings['DeploymentType']} must be one of "
            f"{list(THROUGHPUTS[generation])} MB/s, not {settings['ThroughputCapacity']}"
        )
    yield from _iops_rules(settings.get("DiskIopsConfiguration", {}), capacity, generation)


def growth_rules(old_gib: int, new_gib: int) -> Iterator[ServiceError]:
    """Yield why the capacity cannot change to the new one: it must grow by at least a tenth."""
    smallest = old_gib + -(-old_gib * _GROWTH_PERCENT // 100)
    if new_gib != old_gib and new_gib < smallest:
        yield bad_request(
            f"StorageCapacity must be at least {_GROWTH_PERCENT} percent greater than the current "
            f"{old_gib} GiB: {smallest} GiB or more, not {new_gib}"
        )


def generation_of(settings: Mapping[str, Any]) -> int:
    """Return the number at the end of the deployment type: 1 or 2."""
    return int(str(settings["DeploymentType"])[-1])


def _iops_rules(
    disk: Mapping[str, Any], capacity_gib: int, generation: int
) -> Iterator[ServiceError]:
    iops, most = disk.get("Iops"), _MOST_IOPS[generation]
    if disk.get("Mode", "AUTOMATIC") == "AUTOMATIC":
        if iops is not None:
            yield bad_request(
                "Invalid DiskIopsConfiguration provided. IOPS cannot be set with AUTOMATIC mode."
            )
        return
    least = capacity_gib * _IOPS_PER_GIB
    if iops is None or not least <= iops <= most:
        yield bad_request(
            f"Invalid DiskIopsConfiguration provided. IOPS must be from {least} ({_IOPS_PER_GIB} "
            f"per GiB) to {most}, not {iops}"
        )


def _volume_rules(volume: Mapping[str, Any]) -> Iterator[ServiceError]:
    record = volume.get("RecordSizeKiB")
    if record is not None and record not in _RECORD_SIZES_KIB:
        yield bad_request(f"RecordSizeKiB must be one of {list(_RECORD_SIZES_KIB)}, not {record}")
