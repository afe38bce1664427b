"""AWS::RDS::DBInstance, without clusters, replicas and what is restored from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.api_resource import ApiResource
from slurmpod.rehearsal.cloud.resources.rds_groups import retag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest

IDENTIFIER_LIMIT = 63
SNAPSHOT_LIMIT = 255
_FIXED = frozenset(
    {
        "DBInstanceIdentifier",
        "DBName",
        "DBSubnetGroupName",
        "Engine",
        "KmsKeyId",
        "MasterUsername",
        "StorageEncrypted",
    }
)
_CHANGEABLE = frozenset(
    {
        "AllocatedStorage",
        "AutoMinorVersionUpgrade",
        "BackupRetentionPeriod",
        "CopyTagsToSnapshot",
        "DBInstanceClass",
        "DBParameterGroupName",
        "DeletionProtection",
        "EngineVersion",
        "ManageMasterUserPassword",
        "MaxAllocatedStorage",
        "MultiAZ",
        "PreferredBackupWindow",
        "PreferredMaintenanceWindow",
        "PubliclyAccessible",
        "StorageType",
    }
)
_FOR_CHANGES = "AllowMajorVersionUpgrade"
_FOR_DELETION = "DeleteAutomatedBackups"
_LOGS = "EnableCloudwatchLogsExports"
_NUMBERS = ("AllocatedStorage", "Port")
_RENAMED = {"Port", "MasterUserSecret", "VPCSecurityGroups", _LOGS}


class DbInstance(ApiResource):
    """A database server; RDS keeps its password in a secret of its own."""

    type = "AWS::RDS::DBInstance"
    supported = frozenset({*_FIXED, *_CHANGEABLE, *_RENAMED, _FOR_CHANGES, _FOR_DELETION, "Tags"})
    in_place = supported - _FIXED
    service = "rds"
    creation = "create_db_instance"
    deletion = "delete_db_instance"
    identity = "DBInstanceIdentifier"

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties under the names that the API has."""
        name = request.generated_name(IDENTIFIER_LIMIT).lower()
        return {
            "DBInstanceIdentifier": name,
            **request.given(*_FIXED, *_CHANGEABLE, "Port", _LOGS, "Tags"),
            **_numbers(request.properties),
            **_renamed(request.properties),
        }

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up where it answers, and where its password is."""
        found = _described(request, physical_id)
        attributes = {
            "DBInstanceArn": found["DBInstanceArn"],
            "DbiResourceId": found["DbiResourceId"],
            "Endpoint.Address": found["Endpoint"]["Address"],
            "Endpoint.Port": str(found["Endpoint"]["Port"]),
        }
        if "MasterUserSecret" in found:
            attributes["MasterUserSecret.SecretArn"] = found["MasterUserSecret"]["SecretArn"]
        return attributes

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change at once what has changed, and set the tags anew."""
        changed = {
            name: value
            for name, value in {**request.properties, **_numbers(request.properties)}.items()
            if name in _CHANGEABLE and request.properties[name] != previous.get(name)
        }
        if "EngineVersion" in changed:
            changed |= request.given(_FOR_CHANGES)
        logs = _log_changes(previous, request.properties)
        arguments = {
            **changed,
            **(_renamed(request.properties) if _moved(previous, request.properties) else {}),
            **({"CloudwatchLogsExportConfiguration": logs} if logs else {}),
        }
        if arguments:
            instance = {"DBInstanceIdentifier": physical_id, "ApplyImmediately": True}
            self.call(request, "modify_db_instance", {**instance, **arguments})
        retag(request, previous, _described(request, physical_id)["DBInstanceArn"])

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete it with what it held; RDS refuses for a protected one."""
        self._delete(request, physical_id, {"SkipFinalSnapshot": True})

    def delete_with_snapshot(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete it after a last snapshot, named as CloudFormation does."""
        name = f"{request.stack_name}-snapshot-{request.logical_id}-{physical_id}".lower()
        self._delete(request, physical_id, {"FinalDBSnapshotIdentifier": name[:SNAPSHOT_LIMIT]})

    def _delete(self, request: ResourceRequest, physical_id: str, how: Mapping[str, Any]) -> None:
        arguments = {"DBInstanceIdentifier": physical_id, **request.given(_FOR_DELETION), **how}
        self.call(request, self.deletion, arguments)


def _described(request: ResourceRequest, physical_id: str) -> Any:
    rds = request.aws.service("rds")
    return rds.describe_db_instances(DBInstanceIdentifier=physical_id)["DBInstances"][0]


def _numbers(properties: Mapping[str, Any]) -> dict[str, int]:
    """Return what CloudFormation has as text and the API as a number."""
    return {name: int(properties[name]) for name in _NUMBERS if name in properties}


def _renamed(properties: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {}
    if "VPCSecurityGroups" in properties:
        renamed["VpcSecurityGroupIds"] = properties["VPCSecurityGroups"]
    if "KmsKeyId" in properties.get("MasterUserSecret", {}):
        renamed["MasterUserSecretKmsKeyId"] = properties["MasterUserSecret"]["KmsKeyId"]
    return renamed


def _moved(previous: Mapping[str, Any], properties: Mapping[str, Any]) -> bool:
    return _renamed(previous) != _renamed(properties)


def _log_changes(previous: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    before, after = set(previous.get(_LOGS, [])), set(properties.get(_LOGS, []))
    changes = {
        "EnableLogTypes": sorted(after - before),
        "DisableLogTypes": sorted(before - after),
    }
    return {name: logs for name, logs in changes.items() if logs}
