"""The operations of the FSx API that environments and their operators need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from embedded_aws.errors import ServiceError
from embedded_aws.fsx.associations import Association, Associations, backup_refusals
from embedded_aws.fsx.file_systems import FileSystem, FileSystems
from embedded_aws.fsx.lustre import Lustre
from embedded_aws.fsx.refusals import raise_all
from embedded_aws.wire import Operation

Shape = dict[str, Any]


class FsxApi:
    """The API in front of the file systems and their associations."""

    name: Final = "fsx"
    refusal: Final = "BadRequest"

    def __init__(self, file_systems: FileSystems, associations: Associations) -> None:
        self._file_systems = file_systems
        self._associations = associations
        self.operations: Mapping[str, Operation] = {
            "CreateDataRepositoryAssociation": self._create_association,
            "CreateFileSystem": self._create,
            "DeleteDataRepositoryAssociation": self._delete_association,
            "DeleteFileSystem": self._delete,
            "DescribeDataRepositoryAssociations": self._describe_associations,
            "DescribeFileSystems": self._describe,
            "ListTagsForResource": self._list_tags,
            "TagResource": self._tag,
            "UntagResource": self._untag,
            "UpdateDataRepositoryAssociation": self._update_association,
            "UpdateFileSystem": self._update,
        }

    def _create(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"FileSystem": file_system_shape(self._file_systems.create(region, given))}

    def _update(self, region: str, given: Mapping[str, Any]) -> Shape:
        if self._associations.of_file_system(region, given["FileSystemId"]):
            raise_all(backup_refusals(given))
        return {"FileSystem": file_system_shape(self._file_systems.update(region, given))}

    def _describe(self, region: str, given: Mapping[str, Any]) -> Shape:
        wanted = given.get("FileSystemIds")
        if wanted:
            found = [self._file_systems.find(region, file_system_id) for file_system_id in wanted]
        else:
            found = self._file_systems.all(region)
        return {"FileSystems": [file_system_shape(file_system) for file_system in found]}

    def _delete(self, region: str, given: Mapping[str, Any]) -> Shape:
        file_system_id = given["FileSystemId"]
        self._file_systems.delete(region, file_system_id)
        for association in self._associations.of_file_system(region, file_system_id):
            self._associations.delete(region, association.id)
        return {"FileSystemId": file_system_id, "Lifecycle": "DELETING"}

    def _create_association(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"Association": association_shape(self._associations.create(region, given))}

    def _update_association(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"Association": association_shape(self._associations.update(region, given))}

    def _describe_associations(self, region: str, given: Mapping[str, Any]) -> Shape:
        wanted = given.get("AssociationIds")
        if wanted:
            found = [self._associations.find(region, association_id) for association_id in wanted]
        else:
            found = self._associations.all(region)
        for condition in given.get("Filters", []):
            if condition["Name"] != "file-system-id":
                raise ServiceError(
                    self.refusal, f"Filter {condition['Name']} is not supported by the embedded AWS"
                )
            found = [item for item in found if item.file_system_id in condition["Values"]]
        return {"Associations": [association_shape(association) for association in found]}

    def _delete_association(self, region: str, given: Mapping[str, Any]) -> Shape:
        self._associations.delete(region, given["AssociationId"])
        return {"AssociationId": given["AssociationId"], "Lifecycle": "DELETING"}

    def _list_tags(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"Tags": tag_shapes(self._by_arn(region, given).tags)}

    def _tag(self, region: str, given: Mapping[str, Any]) -> Shape:
        tags = {tag["Key"]: tag["Value"] for tag in given["Tags"]}
        self._by_arn(region, given).tags.update(tags)
        return {}

    def _untag(self, region: str, given: Mapping[str, Any]) -> Shape:
        resource = self._by_arn(region, given)
        for key in given["TagKeys"]:
            resource.tags.pop(key, None)
        return {}

    def _by_arn(self, region: str, given: Mapping[str, Any]) -> FileSystem | Association:
        arn = given["ResourceARN"]
        resources: list[FileSystem | Association] = [
            *self._file_systems.all(region),
            *self._associations.all(region),
        ]
        for resource in resources:
            if resource.arn == arn:
                return resource
        raise ServiceError("ResourceNotFound", f"Resource '{arn}' does not exist.")


_OPENZFS_RETENTION_DAYS = 30
"""FSx's defaults for omitted members (API reference)."""


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
