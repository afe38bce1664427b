"""File systems of every kind that environments may have, and a network for them."""

from __future__ import annotations

from typing import Any

from tests.cloud.embedded_stacks import Resources, ref, resource

NETWORK: Resources = {
    "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
    "Subnet": resource("EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.0.0/24"),
    "Group": resource("EC2::SecurityGroup", VpcId=ref("Vpc"), GroupDescription="test"),
    "In": resource(
        "EC2::SecurityGroupIngress",
        GroupId=ref("Group"),
        IpProtocol="-1",
        SourceSecurityGroupId=ref("Group"),
    ),
    "Out": resource(
        "EC2::SecurityGroupEgress",
        GroupId=ref("Group"),
        IpProtocol="-1",
        DestinationSecurityGroupId=ref("Group"),
    ),
}


def file_system(kind: str, configuration: dict[str, Any], **properties: Any) -> dict[str, Any]:
    name = {"LUSTRE": "LustreConfiguration", "OPENZFS": "OpenZFSConfiguration"}[kind]
    settings: dict[str, Any] = {name: configuration}
    return {
        **resource(
            "FSx::FileSystem",
            FileSystemType=kind,
            SubnetIds=[ref("Subnet")],
            SecurityGroupIds=[ref("Group")],
            **settings,
            **properties,
        ),
        "DependsOn": ["In", "Out"],
    }


def lustre(capacity: int = 1200, **settings: Any) -> dict[str, Any]:
    chosen = {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
        "DataCompressionType": "LZ4",
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
    }
    return file_system(
        "LUSTRE", chosen | settings, StorageCapacity=capacity, FileSystemTypeVersion="2.15"
    )


def openzfs(**settings: Any) -> dict[str, Any]:
    chosen = {
        "DeploymentType": "SINGLE_AZ_HA_2",
        "ThroughputCapacity": 160,
        "RootVolumeConfiguration": {"DataCompressionType": "ZSTD"},
        "Options": ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"],
    }
    return file_system("OPENZFS", chosen | settings, StorageCapacity=256)


KINDS = {
    "scratch": file_system("LUSTRE", {"DeploymentType": "SCRATCH_2"}, StorageCapacity=1200),
    "disks": file_system(
        "LUSTRE",
        {
            "DeploymentType": "PERSISTENT_1",
            "PerUnitStorageThroughput": 12,
            "DriveCacheType": "READ",
        },
        StorageCapacity=6000,
        StorageType="HDD",
    ),
    "efa": lustre(4800, PerUnitStorageThroughput=1000, EfaEnabled=True),
    "tiering": file_system(
        "LUSTRE",
        {
            "DeploymentType": "PERSISTENT_2",
            "ThroughputCapacity": 8000,
            "DataReadCacheConfiguration": {"SizingMode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"},
            "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
        },
        StorageType="INTELLIGENT_TIERING",
        FileSystemTypeVersion="2.15",
    ),
    "everything": lustre(
        AutomaticBackupRetentionDays=7,
        CopyTagsToBackups=True,
        DailyAutomaticBackupStartTime="03:00",
        WeeklyMaintenanceStartTime="7:05:00",
    ),
    "openzfs": openzfs(),
}
