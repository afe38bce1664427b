"""AWS::FSx::FileSystem, of type LUSTRE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_CREATION = (
    "FileSystemType",
    "FileSystemTypeVersion",
    "KmsKeyId",
    "LustreConfiguration",
    "SecurityGroupIds",
    "StorageCapacity",
    "StorageType",
    "SubnetIds",
    "Tags",
)


class FileSystem(Provider):
    """A Lustre file system."""

    type = "AWS::FSx::FileSystem"
    supported = frozenset(_CREATION)
    in_place = frozenset({"LustreConfiguration", "StorageCapacity", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the file system."""
        file_system = request.aws.fsx.create_file_system(**request.given(*_CREATION))
        return file_system["FileSystem"]["FileSystemId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the names under which nodes mount it; only OpenZFS has a root volume."""
        found = request.aws.fsx.describe_file_systems(FileSystemIds=[physical_id])["FileSystems"][0]
        return {
            "DNSName": found["DNSName"],
            "Id": physical_id,
            "LustreMountName": found["LustreConfiguration"]["MountName"],
            "ResourceARN": found["ResourceARN"],
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change what UpdateFileSystem can change, and set the tags anew."""
        fsx, changes = request.aws.fsx, _changes(previous, request.properties)
        if changes:
            fsx.update_file_system(FileSystemId=physical_id, **changes)
        arn = str(self.attributes(request, physical_id)["ResourceARN"])
        old_keys = [tag["Key"] for tag in previous.get("Tags", [])]
        fsx.untag_resource(ResourceARN=arn, TagKeys=old_keys)
        fsx.tag_resource(ResourceARN=arn, Tags=request.properties.get("Tags", []))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the file system."""
        request.aws.fsx.delete_file_system(FileSystemId=physical_id)


def _changes(previous: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of UpdateFileSystem: what differs, nothing else."""
    changes: dict[str, Any] = {}
    if properties.get("StorageCapacity") != previous.get("StorageCapacity"):
        changes["StorageCapacity"] = properties["StorageCapacity"]
    old, new = previous.get("LustreConfiguration", {}), properties.get("LustreConfiguration", {})
    changed = {key: value for key, value in new.items() if old.get(key) != value}
    if changed:
        changes["LustreConfiguration"] = changed
    return changes
