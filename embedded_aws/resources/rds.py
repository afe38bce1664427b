"""RDS: database servers (no clusters, replicas or restores), their subnet groups and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.tags import Tagging

NAME_LIMIT = 255
PARAMETERS_PER_CALL = 20
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
        "EnableIAMDatabaseAuthentication",
        "EnablePerformanceInsights",
        "EngineVersion",
        "ManageMasterUserPassword",
        "MasterUserPassword",
        "MaxAllocatedStorage",
        "MultiAZ",
        "PerformanceInsightsKMSKeyId",
        "PerformanceInsightsRetentionPeriod",
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


class RdsResource(ApiResource):
    """A resource of RDS, where all resource types share the calls for tags."""

    service = "rds"
    checked_by_model = True
    tagging = Tagging(
        "ResourceName",
        tag="add_tags_to_resource",
        untag="remove_tags_from_resource",
    )


class DbSubnetGroup(RdsResource):
    """The subnets in which RDS may put a server."""

    type = "AWS::RDS::DBSubnetGroup"
    in_place = frozenset({"DBSubnetGroupDescription", "SubnetIds", "Tags"})
    supported = in_place | {"DBSubnetGroupName"}
    creation, change = "create_db_subnet_group", "modify_db_subnet_group"
    deletion = "delete_db_subnet_group"
    identity = "DBSubnetGroupName"
    naming = Naming("DBSubnetGroupName", NAME_LIMIT, lower=True)
    described_by = DescribeCall(
        "describe_db_subnet_groups", "DBSubnetGroupName", ("DBSubnetGroups", 0)
    )
    read_attributes: ClassVar = {"DBSubnetGroupArn": ("DBSubnetGroupArn",)}
    tagging = replace(RdsResource.tagging, by_attribute="DBSubnetGroupArn")


class DbParameterGroup(RdsResource):
    """Parameters of a server; all others have RDS's defaults."""

    type = "AWS::RDS::DBParameterGroup"
    supported = frozenset({"DBParameterGroupName", "Description", "Family", "Parameters", "Tags"})
    in_place = frozenset({"Parameters", "Tags"})
    apart = frozenset({"Parameters"})
    renamed: ClassVar = {"Family": "DBParameterGroupFamily"}
    creation, deletion = "create_db_parameter_group", "delete_db_parameter_group"
    identity = "DBParameterGroupName"
    naming = Naming("DBParameterGroupName", NAME_LIMIT, lower=True)
    described_by = DescribeCall(
        "describe_db_parameter_groups", "DBParameterGroupName", ("DBParameterGroups", 0)
    )
    read_attributes: ClassVar = {"DBParameterGroupArn": ("DBParameterGroupArn",)}
    tagging = replace(RdsResource.tagging, by_attribute="DBParameterGroupArn")

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the parameters, in batches of RDS's maximum size."""
        parameters = [
            {"ParameterName": name, "ParameterValue": str(value), "ApplyMethod": "immediate"}
            for name, value in sorted(request.properties.get("Parameters", {}).items())
        ]
        for first in range(0, len(parameters), PARAMETERS_PER_CALL):
            some = parameters[first : first + PARAMETERS_PER_CALL]
            arguments = {"DBParameterGroupName": physical_id, "Parameters": some}
            self.call(request, "modify_db_parameter_group", arguments)

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update parameters and tags; removed parameters return to RDS's defaults."""
        gone = previous.get("Parameters", {}).keys() - request.properties.get("Parameters", {})
        if gone:
            reset = [{"ParameterName": name, "ApplyMethod": "immediate"} for name in sorted(gone)]
            arguments = {"DBParameterGroupName": physical_id, "Parameters": reset}
            self.call(request, "reset_db_parameter_group", arguments)
        super().update(request, physical_id, previous)


class DbInstance(RdsResource):
    """A database server; RDS keeps its password in a secret that RDS manages."""

    type = "AWS::RDS::DBInstance"
    supported = frozenset({*_FIXED, *_CHANGEABLE, *_RENAMED, _FOR_CHANGES, _FOR_DELETION, "Tags"})
    in_place = supported - _FIXED
    creation = "create_db_instance"
    deletion = "delete_db_instance"
    identity = "DBInstanceIdentifier"
    apart = frozenset({*_RENAMED, _FOR_CHANGES, _FOR_DELETION}) - {"Port", _LOGS}
    naming = Naming("DBInstanceIdentifier", 63, lower=True)
    described_by = DescribeCall("describe_db_instances", "DBInstanceIdentifier", ("DBInstances", 0))
    read_attributes: ClassVar = {
        "DBInstanceArn": ("DBInstanceArn",),
        "DbiResourceId": ("DbiResourceId",),
        "Endpoint.Address": ("Endpoint", "Address"),
    }
    tagging = replace(RdsResource.tagging, by_attribute="DBInstanceArn")

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties under the API's names."""
        return {
            **super().arguments(request),
            **_numbers(request.properties),
            **_renamed(request.properties),
        }

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up its endpoint and the ARN of its secret."""
        found = self.described(request.aws, physical_id)
        attributes = {
            **super().attributes(request, physical_id),
            "Endpoint.Port": str(found["Endpoint"]["Port"]),
        }
        if "MasterUserSecret" in found:
            attributes["MasterUserSecret.SecretArn"] = found["MasterUserSecret"]["SecretArn"]
        return attributes

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Apply the changes immediately, and update the tags."""
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
        self.retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete it with its data; RDS refuses if it is protected."""
        self._delete(request, physical_id, {"SkipFinalSnapshot": True})

    def delete_with_snapshot(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete it after a final snapshot, named as CloudFormation does."""
        name = f"{request.stack_name}-snapshot-{request.logical_id}-{physical_id}".lower()
        self._delete(request, physical_id, {"FinalDBSnapshotIdentifier": name[:SNAPSHOT_LIMIT]})

    def _delete(self, request: ResourceRequest, physical_id: str, how: Mapping[str, Any]) -> None:
        arguments = {"DBInstanceIdentifier": physical_id, **request.given(_FOR_DELETION), **how}
        self.call(request, self.deletion, arguments)


def _numbers(properties: Mapping[str, Any]) -> dict[str, int]:
    """Return the properties that are text in CloudFormation and numbers in the API."""
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
