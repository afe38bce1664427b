"""What the embedded FSx for Lustre sells and refuses, against FSx's own documentation."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.errors import ServiceError
from embedded_aws.fsx.file_systems import Addressing, addressing, check_request
from embedded_aws.fsx.lustre import Lustre, automatic_metadata_iops

AUTOMATIC = {"Mode": "AUTOMATIC"}
CACHE = {"SizingMode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"}


def lustre(capacity: int | None = 1200, *, storage: str = "SSD", **settings: Any) -> dict[str, Any]:
    """Return a request for PERSISTENT_2 with 250 MB/s/TiB; None leaves a setting out."""
    chosen = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250} | settings
    request: dict[str, Any] = {
        "FileSystemType": "LUSTRE",
        "StorageType": storage,
        "SubnetIds": ["subnet-12345678"],
        "LustreConfiguration": {k: v for k, v in chosen.items() if v is not None},
    }
    return request if capacity is None else {**request, "StorageCapacity": capacity}


def scratch(capacity: int, kind: str = "SCRATCH_2", **settings: Any) -> dict[str, Any]:
    return lustre(capacity, DeploymentType=kind, PerUnitStorageThroughput=None, **settings)


def disks(capacity: int, throughput: int, cache: str | None = "READ") -> dict[str, Any]:
    return lustre(
        capacity,
        storage="HDD",
        DeploymentType="PERSISTENT_1",
        PerUnitStorageThroughput=throughput,
        DriveCacheType=cache,
    )


def tiering(throughput: int = 4000, *, iops: int = 6000, **settings: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "PerUnitStorageThroughput": None,
        "ThroughputCapacity": throughput,
        "DataReadCacheConfiguration": CACHE,
        "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": iops},
        **settings,
    }
    return lustre(None, storage="INTELLIGENT_TIERING", **chosen)


def efa(capacity: int, throughput: int, **settings: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "PerUnitStorageThroughput": throughput,
        "EfaEnabled": True,
        "MetadataConfiguration": AUTOMATIC,
        **settings,
    }
    return lustre(capacity, **chosen)


def versioned(version: str, **settings: Any) -> dict[str, Any]:
    return {**lustre(**settings), "FileSystemTypeVersion": version}


@pytest.mark.parametrize(
    "request_",
    [
        lustre(1200),
        lustre(2400),
        lustre(7200, PerUnitStorageThroughput=1000),
        scratch(1200),
        scratch(3600, "SCRATCH_1"),
        lustre(1200, DeploymentType="PERSISTENT_1", PerUnitStorageThroughput=50),
        disks(6000, 12),
        disks(1800, 40, "NONE"),
        efa(4800, 1000),
        efa(38400, 125, MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 24000}),
        tiering(),
        tiering(1000, iops=1500),
        tiering(2000, iops=24000),
        tiering(MetadataConfiguration=AUTOMATIC),
        tiering(1000, DataReadCacheConfiguration={"SizingMode": "USER_PROVISIONED", "SizeGiB": 8}),
        tiering(
            8000,
            DataReadCacheConfiguration={"SizingMode": "USER_PROVISIONED", "SizeGiB": 64},
            EfaEnabled=True,
        ),
        versioned("2.12"),
        versioned("2.15", MetadataConfiguration=AUTOMATIC),
        lustre(AutomaticBackupRetentionDays=7, CopyTagsToBackups=True),
        lustre(RootSquashConfiguration={"RootSquash": "1:1", "NoSquashNids": ["10.0.1.6@tcp"]}),
    ],
)
def test_creates_what_fsx_offers(request_: dict[str, Any]) -> None:
    check_request(request_)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (lustre(3600), "must be 1200 GiB, 2400 GiB or a multiple of 2400 GiB"),
        (lustre(600), "StorageCapacity 600 is not valid"),
        (lustre(None), "StorageCapacity None is not valid"),
        (scratch(4800, "SCRATCH_1"), "a multiple of 3600 GiB"),
        (disks(1800, 12), "a multiple of 6000 GiB"),
        (disks(6000, 40), "a multiple of 1800 GiB"),
        (efa(4800, 500), "SSD file systems with EFA: it must be a multiple of 9600 GiB"),
        (efa(1200, 1000), "a multiple of 4800 GiB"),
        (lustre(PerUnitStorageThroughput=200), r"should be one of \[125,250,500,1000\]\."),
        (lustre(PerUnitStorageThroughput=None), r"should be one of \[125,250,500,1000\]\."),
        (lustre(DeploymentType="PERSISTENT_1"), r"should be one of \[50,100,200\]\."),
        (disks(6000, 50), r"should be one of \[12,40\]\."),
        (scratch(1200) | {"KmsKeyId": "k"}, "KmsKeyId is not supported for SCRATCH_2"),
        (lustre(DeploymentType="SCRATCH_2"), "PerUnitStorageThroughput is not supported"),
        (scratch(1200, AutomaticBackupRetentionDays=1), "Backups are not supported"),
        (lustre(6000, storage="HDD"), "StorageType HDD is not supported .* PERSISTENT_2"),
        (disks(6000, 12, None), "DriveCacheType must be provided for storage type HDD"),
        (lustre(DriveCacheType="READ"), "DriveCacheType can only be provided for storage type HDD"),
        (tiering(DeploymentType="SCRATCH_2"), "DeploymentType must be PERSISTENT_2"),
        (tiering() | {"StorageCapacity": 1200}, "StorageCapacity cannot be specified"),
        (tiering(6000), "must be 1000 MB/s, 2000 MB/s or a multiple of 4000 MB/s, not 6000"),
        (tiering(3000), "a multiple of 4000 MB/s, not 3000"),
        (tiering(2000, EfaEnabled=True), "EFA is not supported for ThroughputCapacity 2000"),
        (tiering(DataReadCacheConfiguration=None), "DataReadCacheConfiguration is required"),
        (tiering(iops=9000), r"must be one of \[1500, 3000, 6000, 12000, 24000, .*, not 9000"),
        (tiering(MetadataConfiguration=None), "MetadataConfiguration is required"),
        (
            tiering(8000, DataReadCacheConfiguration={"SizingMode": "USER_PROVISIONED",
                                                      "SizeGiB": 32}),
            "must be from 64 to 262144 for 8000 MB/s, not 32",
        ),
        (lustre(ThroughputCapacity=4000), "ThroughputCapacity needs .* INTELLIGENT_TIERING"),
        (
            efa(4800, 1000, MetadataConfiguration=None),
            "EFA is only supported for PERSISTENT_2 filesystems with metadata configuration",
        ),
        (versioned("2.10"), "2.10 is not supported for PERSISTENT_2"),
        (versioned("2.16"), r"2.16 is not one of \[2.10,2.12,2.15\]"),
        (versioned("2.12", MetadataConfiguration=AUTOMATIC), "'2.15' is required"),
        (
            scratch(1200, MetadataConfiguration=AUTOMATIC),
            "Cannot specify metadata configuration for deployment type 'SCRATCH_2'.",
        ),
        (
            lustre(MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 5000}),
            "must be one of .*, not 5000",
        ),
        (
            lustre(MetadataConfiguration={"Mode": "AUTOMATIC", "Iops": 6000}),
            "cannot be specified with mode AUTOMATIC",
        ),
        (lustre(ImportPath="s3://b"), "Linking a Persistent 2 file system to an S3 bucket using"),
        (scratch(1200, ImportPath="s3://b"), "ImportPath: not supported by the embedded AWS"),
        (lustre(RootSquashConfiguration={"RootSquash": "0:1"}), "both 0 or both not 0"),
        (lustre() | {"SubnetIds": ["subnet-12345678"] * 2}, "Exactly one subnet ID"),
        (lustre(DeploymentType="PERSISTENT_3"), "Member must satisfy enum value set"),
        ({**lustre(), "FileSystemType": "ONTAP"}, "it knows LUSTRE and OPENZFS"),
    ],
)  # fmt: skip
def test_refuses_what_fsx_refuses(request_: dict[str, Any], reason: str) -> None:
    with pytest.raises(ServiceError, match=reason):
        check_request(request_)


def test_tells_everything_that_is_wrong_at_once() -> None:
    with pytest.raises(ServiceError) as refused:
        check_request(lustre(3600, PerUnitStorageThroughput=200, DriveCacheType="READ"))

    assert refused.value.message.count(";") == 2


def test_a_wrong_throughput_has_its_own_code() -> None:
    with pytest.raises(ServiceError) as refused:
        check_request(lustre(PerUnitStorageThroughput=200))

    assert refused.value.code == "InvalidPerUnitStorageThroughput"


@pytest.mark.parametrize(
    ("request_", "servers"),
    [
        (lustre(1200), 2),
        (lustre(4800), 3),
        (scratch(7200, "SCRATCH_1"), 3),
        (disks(12000, 12), 3),
        (disks(3600, 40), 3),
        (efa(38400, 250), 3),
        (efa(38400, 125), 2),
        (lustre(MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 36000}), 4),
        (lustre(72000, MetadataConfiguration=AUTOMATIC), 33),
        (tiering(12000, iops=12000), 4),
    ],
)
def test_every_server_has_an_address(request_: dict[str, Any], servers: int) -> None:
    assert addressing(request_) == Addressing(servers)


@pytest.mark.parametrize(
    ("capacity", "iops"),
    [(1200, 1500), (2400, 3000), (4800, 6000), (9600, 6000), (12000, 12000), (45600, 12000),
     (48000, 24000), (72000, 36000)],
)  # fmt: skip
def test_metadata_performance_follows_the_capacity(capacity: int, iops: int) -> None:
    assert automatic_metadata_iops(capacity) == iops


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (scratch(1200), "2.10"),
        (lustre(), "2.12"),
        (lustre(MetadataConfiguration=AUTOMATIC), "2.15"),
        (versioned("2.15"), "2.15"),
    ],
)
def test_the_version_has_a_default(request_: dict[str, Any], version: str) -> None:
    assert Lustre.of(request_).version == version
