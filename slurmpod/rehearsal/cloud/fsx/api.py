"""The operations of the FSx API that a Lustre file system needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.fsx.file_systems import FileSystem, FileSystems
    from slurmpod.rehearsal.cloud.wire import Operation

Shape = dict[str, Any]

_STORAGE_TYPE = "SSD"
_DEPLOYMENT_TYPE = "SCRATCH_1"
"""What FSx assumes when a request leaves these out (API reference, CreateFileSystem)."""


class FsxApi:
    """The API in front of the file systems."""

    name: Final = "fsx"
    refusal: Final = "BadRequest"

    def __init__(self, file_systems: FileSystems) -> None:
        self._file_systems = file_systems
        self.operations: Mapping[str, Operation] = {
            "CreateFileSystem": self._create,
            "DeleteFileSystem": self._delete,
            "DescribeFileSystems": self._describe,
            "ListTagsForResource": self._list_tags,
            "TagResource": self._tag,
            "UntagResource": self._untag,
            "UpdateFileSystem": self._update,
        }

    def _create(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"FileSystem": file_system_shape(self._file_systems.create(region, given))}

    def _update(self, region: str, given: Mapping[str, Any]) -> Shape:
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
        return {"FileSystemId": file_system_id, "Lifecycle": "DELETING"}

    def _list_tags(self, region: str, given: Mapping[str, Any]) -> Shape:
        file_system = self._file_systems.find_by_arn(region, given["ResourceARN"])
        return {"Tags": _tags(file_system)}

    def _tag(self, region: str, given: Mapping[str, Any]) -> Shape:
        file_system = self._file_systems.find_by_arn(region, given["ResourceARN"])
        file_system.tags |= {tag["Key"]: tag["Value"] for tag in given["Tags"]}
        return {}

    def _untag(self, region: str, given: Mapping[str, Any]) -> Shape:
        file_system = self._file_systems.find_by_arn(region, given["ResourceARN"])
        for key in given["TagKeys"]:
            file_system.tags.pop(key, None)
        return {}


def file_system_shape(file_system: FileSystem) -> Shape:
    """Return a file system as DescribeFileSystems does."""
    request = file_system.request
    settings = request.get("LustreConfiguration", {})
    return {
        "OwnerId": file_system.owner,
        "CreationTime": file_system.created_at,
        "FileSystemId": file_system.id,
        "FileSystemType": "LUSTRE",
        "FileSystemTypeVersion": request.get("FileSystemTypeVersion"),
        "Lifecycle": "AVAILABLE",
        "StorageCapacity": request.get("StorageCapacity"),
        "StorageType": request.get("StorageType", _STORAGE_TYPE),
        "VpcId": file_system.vpc_id,
        "SubnetIds": request["SubnetIds"],
        "NetworkInterfaceIds": file_system.interface_ids,
        "DNSName": file_system.dns_name,
        "KmsKeyId": request.get("KmsKeyId"),
        "ResourceARN": file_system.arn,
        "Tags": _tags(file_system),
        "LustreConfiguration": {
            "DeploymentType": _DEPLOYMENT_TYPE,
            **settings,
            "MountName": file_system.mount_name,
        },
    }


def _tags(file_system: FileSystem) -> list[Shape]:
    return [{"Key": key, "Value": value} for key, value in sorted(file_system.tags.items())]
