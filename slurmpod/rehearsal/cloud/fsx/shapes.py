"""File systems and associations in the shapes of the FSx API. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.fsx.lustre import Lustre

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.fsx.associations import Association
    from slurmpod.rehearsal.cloud.fsx.file_systems import FileSystem

Shape = dict[str, Any]

_OPENZFS_RETENTION_DAYS = 30
"""What FSx assumes when a request leaves it out (API reference)."""


def file_system_shape(file_system: FileSystem) -> Shape:
    """Return a file system as DescribeFileSystems does."""
    request = file_system.request
    configured = _lustre_shape if request["FileSystemType"] == "LUSTRE" else _openzfs_shape
    return {
        "OwnerId": file_system.owner,
        "CreationTime": file_system.created_at,
        "FileSystemId": file_system.id,
        "FileSystemType": request["FileSystemType"],
        "Lifecycle": "AVAILABLE",
        "StorageCapacity": request.get("StorageCapacity"),
        "StorageType": request.get("StorageType", "SSD"),
        "VpcId": file_system.vpc_id,
        "SubnetIds": request["SubnetIds"],
        "NetworkInterfaceIds": file_system.interface_ids,
        "DNSName": file_system.dns_name,
        "KmsKeyId": request.get("KmsKeyId"),
        "ResourceARN": file_system.arn,
        "Tags": tag_shapes(file_system.tags),
        **configured(file_system, request),
    }


def association_shape(association: Association) -> Shape:
    """Return an association as DescribeDataRepositoryAssociations does."""
    request = association.request
    return {
        "AssociationId": association.id,
        "ResourceARN": association.arn,
        "FileSystemId": association.file_system_id,
        "Lifecycle": "AVAILABLE",
        "FileSystemPath": request["FileSystemPath"],
        "DataRepositoryPath": request["DataRepositoryPath"],
        "BatchImportMetaDataOnCreate": request.get("BatchImportMetaDataOnCreate", False),
        "ImportedFileChunkSize": request.get("ImportedFileChunkSize", 1024),
        "S3": request.get("S3", {}),
        "Tags": tag_shapes(association.tags),
        "CreationTime": association.created_at,
    }


def tag_shapes(tags: Mapping[str, str]) -> list[Shape]:
    """Return tags as FSx writes them."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def _lustre_shape(file_system: FileSystem, request: Mapping[str, Any]) -> Shape:
    lustre = Lustre.of(request)
    settings = {**lustre.settings, "MountName": file_system.mount_name}
    if lustre.metadata_iops is not None:
        metadata = settings["MetadataConfiguration"]
        settings["MetadataConfiguration"] = {"Iops": lustre.metadata_iops, **metadata}
    return {"FileSystemTypeVersion": lustre.version, "LustreConfiguration": settings}


def _openzfs_shape(file_system: FileSystem, request: Mapping[str, Any]) -> Shape:
    settings = request["OpenZFSConfiguration"]
    disk = settings.get("DiskIopsConfiguration", {"Mode": "AUTOMATIC"})
    own = {name: value for name, value in settings.items() if name != "RootVolumeConfiguration"}
    return {
        "OpenZFSConfiguration": {
            "AutomaticBackupRetentionDays": _OPENZFS_RETENTION_DAYS,
            **own,
            "DiskIopsConfiguration": {"Iops": 3 * request["StorageCapacity"], **disk},
            "RootVolumeId": file_system.root_volume_id,
        }
    }
