"""What UpdateFileSystem of the embedded FSx changes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.fsx.updates import update_refusals, updated
from tests.pure.embedded_aws.test_lustre import (
    AUTOMATIC,
    disks,
    efa,
    lustre,
    scratch,
    tiering,
    versioned,
)
from tests.pure.embedded_aws.test_openzfs import iops, openzfs

Change = dict[str, Any]


def settings(**changes: Any) -> Change:
    return {"LustreConfiguration": changes}


def zfs(**changes: Any) -> Change:
    return {"OpenZFSConfiguration": changes}


def capacity(gib: int) -> Change:
    return {"StorageCapacity": gib}


def metadata(iops: int) -> Change:
    return settings(MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": iops})


@pytest.mark.parametrize(
    ("current", "change"),
    [
        (lustre(1200), capacity(2400)),
        (scratch(2400), capacity(7200)),
        (disks(6000, 12), capacity(12000)),
        (efa(4800, 1000), capacity(9600)),
        (lustre(PerUnitStorageThroughput=1000), settings(PerUnitStorageThroughput=125)),
        (versioned("2.12"), {"FileSystemTypeVersion": "2.15"}),
        (lustre(MetadataConfiguration=AUTOMATIC), metadata(1500)),
        (lustre(MetadataConfiguration=AUTOMATIC), metadata(12000)),
        (tiering(4000), settings(ThroughputCapacity=8000)),
        (tiering(1000), settings(ThroughputCapacity=2000)),
        (tiering(), metadata(24000)),
        (lustre(), settings(DataCompressionType="NONE", WeeklyMaintenanceStartTime="1:01:00")),
        (lustre(), settings(RootSquashConfiguration={"RootSquash": "1:1"})),
        (openzfs(capacity=100), capacity(110)),
        (openzfs(), zfs(ThroughputCapacity=320)),
        (openzfs(), zfs(DiskIopsConfiguration={"Mode": "USER_PROVISIONED", "Iops": 3000})),
        (openzfs(), zfs(AutomaticBackupRetentionDays=0)),
    ],
)
def test_changes_what_fsx_can_change(current: dict[str, Any], change: Change) -> None:
    assert list(update_refusals(current, change)) == []


@pytest.mark.parametrize(
    ("current", "change", "reason"),
    [
        (lustre(2400), capacity(1200), "greater than the current 2400 GiB, not 1200"),
        (lustre(1200), capacity(1200), "greater than the current 1200 GiB"),
        (lustre(1200), capacity(3600), "a multiple of 2400 GiB, not 3600"),
        (efa(4800, 1000), capacity(7200), "a multiple of 4800 GiB, not 7200"),
        (scratch(1200, "SCRATCH_1"), capacity(2400), "SCRATCH_1 file systems cannot be changed"),
        (tiering(), capacity(1200), "INTELLIGENT_TIERING file systems cannot be changed"),
        (lustre(), settings(PerUnitStorageThroughput=200), "should be one of [125,250,500,1000]."),
        (disks(6000, 12), settings(PerUnitStorageThroughput=40), "Throughput scaling is not"),
        (efa(4800, 1000), settings(PerUnitStorageThroughput=500), "with EFA"),
        (versioned("2.15"), {"FileSystemTypeVersion": "2.12"}, "newer than the current 2.15"),
        (lustre(), metadata(6000), "Updating metadata configuration is not supported on file"),
        (
            lustre(MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 6000}),
            metadata(3000),
            "fewer than the current 6000: 3000",
        ),
        (
            lustre(MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 6000}),
            settings(MetadataConfiguration=AUTOMATIC),
            "fewer than the current 6000: 1500",
        ),
        (lustre(MetadataConfiguration=AUTOMATIC), metadata(7000), "must be one of"),
        (tiering(8000), settings(ThroughputCapacity=4000), "can only grow"),
        (tiering(2000), settings(ThroughputCapacity=3000), "2000 or a multiple of 4000"),
        (lustre(), settings(ThroughputCapacity=4000), "needs StorageType INTELLIGENT_TIERING"),
        (lustre(), {"StorageType": "HDD"}, "StorageType of LUSTRE file systems cannot be changed"),
        (lustre(), zfs(ThroughputCapacity=160), "OpenZFSConfiguration is not for LUSTRE"),
        (openzfs(capacity=100), capacity(109), "110 GiB or more, not 109"),
        (openzfs(), zfs(ThroughputCapacity=64), "must be one of"),
        (iops(768), capacity(512), "from 1536 (3 per GiB)"),
    ],
)
def test_refuses_what_fsx_cannot_change(
    current: dict[str, Any], change: Change, reason: str
) -> None:
    messages = [error.message for error in update_refusals(current, change)]

    assert len(messages) == 1
    assert reason in messages[0]


def test_the_rest_of_a_file_system_stays() -> None:
    before = lustre(DataCompressionType="LZ4")
    after = updated(before, {"FileSystemId": "fs-1", **settings(PerUnitStorageThroughput=500)})

    assert after == lustre(DataCompressionType="LZ4", PerUnitStorageThroughput=500)
    assert before == lustre(DataCompressionType="LZ4")
