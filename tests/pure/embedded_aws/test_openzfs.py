"""What the embedded FSx for OpenZFS sells and refuses."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.errors import ServiceError
from embedded_aws.fsx.file_systems import Addressing, addressing, check_request


def openzfs(
    kind: str = "SINGLE_AZ_HA_2", capacity: int = 256, throughput: int = 160, **settings: Any
) -> dict[str, Any]:
    return {
        "FileSystemType": "OPENZFS",
        "SubnetIds": ["subnet-12345678"],
        "StorageCapacity": capacity,
        "OpenZFSConfiguration": {
            "DeploymentType": kind,
            "ThroughputCapacity": throughput,
            **settings,
        },
    }


def iops(count: int | None, mode: str = "USER_PROVISIONED") -> dict[str, Any]:
    disk = {"Mode": mode} if count is None else {"Mode": mode, "Iops": count}
    return openzfs(DiskIopsConfiguration=disk)


@pytest.mark.parametrize(
    "request_",
    [
        openzfs(),
        openzfs("SINGLE_AZ_1", 64, 64),
        openzfs("SINGLE_AZ_HA_1", 524288, 4096),
        openzfs("SINGLE_AZ_2", throughput=10240),
        iops(768),
        iops(400_000),
        iops(None, "AUTOMATIC"),
        openzfs(
            RootVolumeConfiguration={
                "DataCompressionType": "ZSTD",
                "RecordSizeKiB": 128,
                "NfsExports": [
                    {"ClientConfigurations": [{"Clients": "*", "Options": ["rw", "crossmnt"]}]}
                ],
            },
            AutomaticBackupRetentionDays=7,
            DailyAutomaticBackupStartTime="03:00",
            CopyTagsToBackups=True,
            CopyTagsToVolumes=True,
            WeeklyMaintenanceStartTime="7:05:00",
        ),
    ],
)
def test_creates_what_fsx_offers(request_: dict[str, Any]) -> None:
    check_request(request_)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (openzfs(throughput=64), r"SINGLE_AZ_HA_2 must be one of \[160, .* MB/s, not 64"),
        (openzfs("SINGLE_AZ_1"), r"SINGLE_AZ_1 must be one of \[64, .* not 160"),
        (openzfs(capacity=63), "must be from 64 to 524288 GiB, not 63"),
        (openzfs(capacity=524289), "not 524289"),
        (iops(767), r"from 768 \(3 per GiB\) to 400000, not 767"),
        (iops(None), "not None"),
        (iops(1000, "AUTOMATIC"), "IOPS cannot be set with AUTOMATIC mode"),
        (openzfs("MULTI_AZ_1"), "MULTI_AZ_1 is not supported by the embedded AWS"),
        (openzfs() | {"SubnetIds": ["subnet-12345678"] * 2}, "Exactly one subnet ID"),
        (openzfs() | {"StorageType": "INTELLIGENT_TIERING"}, "needs a Multi-AZ file system"),
        (openzfs() | {"FileSystemTypeVersion": "2.15"}, "is for Lustre"),
        (openzfs(PreferredSubnetId="subnet-12345678"), "is for Multi-AZ"),
        (openzfs(RootVolumeConfiguration={"RecordSizeKiB": 100}), "must be one of"),
        ({"FileSystemType": "OPENZFS", "SubnetIds": ["subnet-12345678"]}, "is required"),
    ],
)
def test_refuses_what_fsx_refuses(request_: dict[str, Any], reason: str) -> None:
    with pytest.raises(ServiceError, match=reason):
        check_request(request_)


def test_high_availability_costs_three_addresses() -> None:
    assert addressing(openzfs("SINGLE_AZ_2")) == Addressing(1)
    assert addressing(openzfs("SINGLE_AZ_HA_2")) == Addressing(2, has_floating_address=True)
