"""AWS::FSx::FileSystem, of type LUSTRE or OPENZFS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.constraints import members
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest
from slurmpod.rehearsal.cloud.resources.tags import retag_by_arn

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONFIGURATIONS = ("LustreConfiguration", "OpenZFSConfiguration")
_CREATION = (
    "FileSystemType",
    "FileSystemTypeVersion",
    "KmsKeyId",
    *_CONFIGURATIONS,
    "SecurityGroupIds",
    "StorageCapacity",
    "StorageType",
    "SubnetIds",
    "Tags",
)
_CHANGEABLE = ("FileSystemTypeVersion", "StorageCapacity", "StorageType")
_FOR_DELETION = "Options"
"""The one setting of OpenZFSConfiguration that is for DeleteFileSystem: whether child volumes go
too. There are none here."""


class FileSystem(Provider):
    """A file system.

    Which settings replace it: CloudFormation template reference, "Update requires: Replacement".
    Settings of which it promises no replacement and that UpdateFileSystem does not take
    (EfaEnabled, DriveCacheType) cannot be changed here.
    """

    type = "AWS::FSx::FileSystem"
    supported = frozenset(_CREATION)
    in_place = frozenset({*_CHANGEABLE, *_CONFIGURATIONS, "Tags"})
    replaced_by = (
        ("LustreConfiguration", "CopyTagsToBackups"),
        ("LustreConfiguration", "DeploymentType"),
        ("OpenZFSConfiguration", "DeploymentType"),
        ("OpenZFSConfiguration", "RootVolumeConfiguration"),
    )

    def fixed(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
        """Return what cannot change, settings within the configuration included."""
        settings = [
            f"{name}.{setting}"
            for name in _CONFIGURATIONS
            for setting in _changed(old, new, name)
            if setting not in {*members("fsx", "UpdateFileSystem", name), _FOR_DELETION}
        ]
        return [*super().fixed(old, new), *settings]

    def create(self, request: ResourceRequest) -> str:
        """Create the file system."""
        given = request.given(*_CREATION)
        if "OpenZFSConfiguration" in given:
            given["OpenZFSConfiguration"] = _without_options(given["OpenZFSConfiguration"])
        file_system = request.aws.fsx.create_file_system(**given)
        return file_system["FileSystem"]["FileSystemId"]

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the names under which nodes mount it."""
        found = _described(request, physical_id)
        attributes = {
            "DNSName": found["DNSName"],
            "Id": physical_id,
            "ResourceARN": found["ResourceARN"],
        }
        if found["FileSystemType"] == "LUSTRE":
            attributes["LustreMountName"] = found["LustreConfiguration"]["MountName"]
        else:
            attributes["RootVolumeId"] = found["OpenZFSConfiguration"]["RootVolumeId"]
        return attributes

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change what UpdateFileSystem can change, and set the tags anew."""
        current = _described(request, physical_id)
        changes = _changes(previous, request.properties, current)
        if changes:
            request.aws.fsx.update_file_system(FileSystemId=physical_id, **changes)
        retag_by_arn("fsx", request, previous, ResourceARN=current["ResourceARN"])

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the file system."""
        request.aws.fsx.delete_file_system(FileSystemId=physical_id)


def _described(request: ResourceRequest, physical_id: str) -> Any:
    return request.aws.fsx.describe_file_systems(FileSystemIds=[physical_id])["FileSystems"][0]


def _changes(
    previous: Mapping[str, Any], properties: Mapping[str, Any], current: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of UpdateFileSystem: what differs, nothing else.

    What a refused update did not change is not changed back. What is no longer given stays as it
    is, except that Lustre's backups end: CloudFormation then asks for 0 days (public report of a
    failed update, CloudFormation roadmap, issue 1687).
    """
    changes: dict[str, Any] = {
        name: properties[name]
        for name in _CHANGEABLE
        if name in properties and properties[name] not in (previous.get(name), current.get(name))
    }
    for name in _CONFIGURATIONS:
        new = _without_options(properties.get(name, {}))
        changed = _changed(previous, properties, name)
        settings = {setting: new[setting] for setting in changed if setting in new}
        if "AutomaticBackupRetentionDays" in changed and name == "LustreConfiguration":
            settings.setdefault("AutomaticBackupRetentionDays", 0)
        if settings:
            changes[name] = settings
    return changes


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> list[str]:
    before, after = old.get(name, {}), new.get(name, {})
    return sorted(s for s in {*before, *after} if before.get(s) != after.get(s))


def _without_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != _FOR_DELETION}
