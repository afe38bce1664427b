"""Updates of file systems by UpdateFileSystem, and its refusals. Pure.

Sources: API reference of UpdateFileSystem; FSx for Lustre user guide, "Managing storage and
throughput capacity", "Managing metadata performance", "Managing Lustre versions".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_aws.errors import ServiceError
from embedded_aws.fsx.lustre import (
    Lustre,
    is_tiering_throughput,
    metadata_rules,
    root_squash_rules,
)
from embedded_aws.fsx.openzfs import growth_rules, size_rules
from embedded_aws.fsx.refusals import bad_request

CONFIGURATIONS = {"LUSTRE": "LustreConfiguration", "OPENZFS": "OpenZFSConfiguration"}
"""The configuration member of each file system type."""

_IDENTITY = ("ClientRequestToken", "FileSystemId")


def updated(current: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request that would have created the file system after the change."""
    configuration = CONFIGURATIONS[current["FileSystemType"]]
    settings = {**current.get(configuration, {}), **change.get(configuration, {})}
    others = {k: v for k, v in change.items() if k not in (*_IDENTITY, configuration)}
    return {**current, **others, configuration: settings}


def update_refusals(
    current: Mapping[str, Any], change: Mapping[str, Any]
) -> Iterator[ServiceError]:
    """Yield every reason why the file system cannot be changed this way."""
    kind = current["FileSystemType"]
    for name in set(CONFIGURATIONS.values()) & change.keys() - {CONFIGURATIONS[kind]}:
        yield bad_request(f"{name} is not for {kind} file systems")
    if change.get("StorageType", current.get("StorageType", "SSD")) != current.get(
        "StorageType", "SSD"
    ):
        yield bad_request(f"StorageType of {kind} file systems cannot be changed")
    if kind == "LUSTRE":
        yield from _lustre_refusals(Lustre.of(current), Lustre.of(updated(current, change)), change)
    else:
        if "StorageCapacity" in change:
            yield from growth_rules(current["StorageCapacity"], change["StorageCapacity"])
        yield from size_rules(updated(current, change))


def _lustre_refusals(old: Lustre, new: Lustre, change: Mapping[str, Any]) -> Iterator[ServiceError]:
    settings = change.get("LustreConfiguration", {})
    if "StorageCapacity" in change:
        yield from _capacity_rules(old, new)
    if "FileSystemTypeVersion" in change and _number(new.version) <= _number(old.version):
        yield bad_request(
            f"FileSystemTypeVersion must be newer than the current {old.version}, not {new.version}"
        )
    if "PerUnitStorageThroughput" in settings:
        yield from _throughput_rules(old, new)
    if "MetadataConfiguration" in settings:
        yield from _metadata_rules(old, new)
    if "ThroughputCapacity" in settings:
        yield from _tiering_rules(old, new)
    yield from root_squash_rules(settings)


def _capacity_rules(old: Lustre, new: Lustre) -> Iterator[ServiceError]:
    old_gib, new_gib = old.capacity_gib or 0, new.capacity_gib or 0
    if old.is_tiering or old.deployment_type == "SCRATCH_1":
        kind = old.storage_type if old.is_tiering else old.deployment_type
        yield bad_request(f"StorageCapacity of {kind} file systems cannot be changed")
    elif new_gib <= old_gib:
        yield bad_request(
            f"StorageCapacity must be greater than the current {old_gib} GiB, not {new_gib}"
        )
    elif not new.fits(new_gib):
        yield bad_request(f"StorageCapacity must be {new.capacities}, not {new_gib}")


def _throughput_rules(old: Lustre, new: Lustre) -> Iterator[ServiceError]:
    if old.storage_type != "SSD" or old.is_scratch:
        yield bad_request(
            f"Throughput scaling is not supported for {old.deployment_type} {old.storage_type} "
            "file systems"
        )
    elif old.has_efa:
        yield bad_request("Throughput scaling is not supported for file systems with EFA")
    elif new.throughput not in new.throughputs:
        values = ",".join(map(str, new.throughputs))
        yield bad_request(f"The storage throughput (MB/s/TiB) value should be one of [{values}].")


def _metadata_rules(old: Lustre, new: Lustre) -> Iterator[ServiceError]:
    if old.metadata_iops is None:
        yield bad_request(
            "Updating metadata configuration is not supported on file systems created without "
            "specifying a metadata configuration."
        )
        return
    problems = list(metadata_rules(new))
    yield from problems
    if not problems and (new.metadata_iops or 0) < old.metadata_iops:
        yield bad_request(
            f"Metadata IOPS cannot become fewer than the current {old.metadata_iops}: "
            f"{new.metadata_iops}"
        )


def _tiering_rules(old: Lustre, new: Lustre) -> Iterator[ServiceError]:
    before = old.settings.get("ThroughputCapacity", 0)
    after = new.settings["ThroughputCapacity"]
    if not old.is_tiering:
        yield bad_request("ThroughputCapacity needs StorageType INTELLIGENT_TIERING")
    elif after < before or not is_tiering_throughput(after):
        yield bad_request(
            "ThroughputCapacity can only grow, to 2000 or a multiple of 4000: "
            f"from {before} to {after}"
        )


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
