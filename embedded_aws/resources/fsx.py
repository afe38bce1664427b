"""FSx: file systems (LUSTRE and OPENZFS) and data repository associations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from embedded_aws.errors import members
from embedded_aws.resources.api_resource import ApiResource, DescribeCall
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.tags import Tagging

_CONFIGURATIONS = ("LustreConfiguration", "OpenZFSConfiguration")
_CHANGEABLE = ("FileSystemTypeVersion", "StorageCapacity", "StorageType")
_FOR_DELETION = "Options"
"""The one setting of OpenZFSConfiguration for DeleteFileSystem: whether child volumes are deleted,
too. There are none here."""


class FileSystem(ApiResource):
    """A file system.

    Source of the settings that replace it: CloudFormation template reference, "Update requires:
    Replacement". Settings that neither require replacement nor can be changed by UpdateFileSystem
    (EfaEnabled, DriveCacheType) cannot be changed here.
    """

    type = "AWS::FSx::FileSystem"
    in_place = frozenset({*_CHANGEABLE, *_CONFIGURATIONS, "Tags"})
    supported = in_place | {"FileSystemType", "KmsKeyId", "SecurityGroupIds", "SubnetIds"}
    replaced_by = (
        ("LustreConfiguration", "CopyTagsToBackups"),
        ("LustreConfiguration", "DeploymentType"),
        ("OpenZFSConfiguration", "DeploymentType"),
        ("OpenZFSConfiguration", "RootVolumeConfiguration"),
    )
    service = "fsx"
    creation, deletion = "create_file_system", "delete_file_system"
    identity = "FileSystemId"
    answer = ("FileSystem", "FileSystemId")
    described_by = DescribeCall("describe_file_systems", "FileSystemIds", ("FileSystems", 0))
    id_attributes = ("Id",)
    read_attributes: ClassVar = {"DNSName": ("DNSName",), "ResourceARN": ("ResourceARN",)}
    tagging = Tagging("ResourceARN", by_attribute="ResourceARN")

    def fixed(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
        """Return the properties that cannot change, including settings in the configuration."""
        settings = [
            f"{name}.{setting}"
            for name in _CONFIGURATIONS
            for setting in _changed(old, new, name)
            if setting not in {*members("fsx", "UpdateFileSystem", name), _FOR_DELETION}
        ]
        return [*super().fixed(old, new), *settings]

    def written(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties without the setting for deletion."""
        return {
            name: _without_options(value) if name in _CONFIGURATIONS else value
            for name, value in properties.items()
        }

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the DNS and mount names for nodes."""
        found = self.described(request.aws, physical_id)
        if found["FileSystemType"] == "LUSTRE":
            own = {"LustreMountName": found["LustreConfiguration"]["MountName"]}
        else:
            own = {"RootVolumeId": found["OpenZFSConfiguration"]["RootVolumeId"]}
        return {**super().attributes(request, physical_id), **own}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Apply UpdateFileSystem, and update the tags."""
        current = self.described(request.aws, physical_id)
        changes = _changes(previous, request.properties, current)
        if changes:
            self.call(request, "update_file_system", {"FileSystemId": physical_id, **changes})
        self.retag(request, physical_id, previous)


class DataRepositoryAssociation(ApiResource):
    """The link between a folder of a Lustre file system and a bucket."""

    type = "AWS::FSx::DataRepositoryAssociation"
    in_place = frozenset({"ImportedFileChunkSize", "S3", "Tags"})
    supported = in_place | {
        "BatchImportMetaDataOnCreate",
        "DataRepositoryPath",
        "FileSystemId",
        "FileSystemPath",
    }
    service = "fsx"
    creation = "create_data_repository_association"
    change = "update_data_repository_association"
    deletion = "delete_data_repository_association"
    identity = "AssociationId"
    answer = ("Association", "AssociationId")
    checked_by_model = True
    described_by = DescribeCall(
        "describe_data_repository_associations", "AssociationIds", ("Associations", 0)
    )
    id_attributes = ("AssociationId",)
    read_attributes: ClassVar = {"ResourceARN": ("ResourceARN",)}
    tagging = Tagging("ResourceARN", by_attribute="ResourceARN")


def _changes(
    previous: Mapping[str, Any], properties: Mapping[str, Any], current: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of UpdateFileSystem: only those that differ.

    A rollback does not repeat changes that were refused. Omitted settings stay unchanged, except
    that Lustre's backups end: CloudFormation then requests 0 days (public report of a failed
    update, CloudFormation roadmap, issue 1687).
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
