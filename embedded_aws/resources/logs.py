"""CloudWatch Logs: log groups, and metric filters, which are stored but count nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming, lower_camel
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging


class LogGroup(ApiResource):
    """A log group of CloudWatch Logs."""

    type = "AWS::Logs::LogGroup"
    apart = frozenset({"KmsKeyId", "RetentionInDays"})
    in_place = apart | {"Tags"}
    supported = in_place | {"LogGroupName"}
    renamed: ClassVar = {"LogGroupName": "logGroupName"}
    service = "logs"
    creation, deletion = "create_log_group", "delete_log_group"
    identity = "logGroupName"
    naming = Naming("LogGroupName", 512)
    described_by = DescribeCall("describe_log_streams", "logGroupName")
    tagging = Tagging("resourceArn", keys="tagKeys", tags="tags", write=dict)
    tags_at_creation = "tags"

    def create(self, request: ResourceRequest) -> str:
        """Create the log group after checking its key."""
        arguments = self.arguments(request)
        self._require_usable_key(request, arguments["logGroupName"])
        self.call(request, self.creation, arguments)
        return str(arguments["logGroupName"])

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the key and the retention."""
        logs, properties = request.aws.logs, request.properties
        if "KmsKeyId" in properties:
            logs.associate_kms_key(logGroupName=physical_id, kmsKeyId=properties["KmsKeyId"])
        else:
            logs.disassociate_kms_key(logGroupName=physical_id)
        days = properties.get("RetentionInDays")
        if days is None:
            logs.delete_retention_policy(logGroupName=physical_id)
        else:
            logs.put_retention_policy(logGroupName=physical_id, retentionInDays=days)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the ARN in CloudFormation's form, with a trailing `:*`."""
        return {"Arn": f"{_arn(request.aws, physical_id)}:*"}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update key, retention and tags."""
        self._require_usable_key(request, physical_id)
        super().update(request, physical_id, previous)

    def tagged(self, request: ResourceRequest, physical_id: str) -> str:
        """Return the ARN in the form of the service's calls."""
        return _arn(request.aws, physical_id)

    def _require_usable_key(self, request: ResourceRequest, name: str) -> None:
        if "KmsKeyId" in request.properties:
            require_usable_key(request.aws, request.properties["KmsKeyId"], name)


class MetricFilter(ApiResource):
    """A filter of an existing log group; Ref gives its name."""

    type = "AWS::Logs::MetricFilter"
    supported = frozenset({"FilterName", "FilterPattern", "LogGroupName", "MetricTransformations"})
    in_place = frozenset({"FilterPattern", "MetricTransformations"})
    renamed: ClassVar = {name: lower_camel(name) for name in supported}
    service = "logs"
    creation = change = "put_metric_filter"
    deletion = "delete_metric_filter"
    identity = "filterName"
    naming = Naming("FilterName", 512)

    def written(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return properties in the API's spelling, metricName for MetricName, at every depth."""
        written = super().written(properties)
        written["metricTransformations"] = [
            {lower_camel(name): value for name, value in each.items()}
            for each in properties["MetricTransformations"]
        ]
        return written

    def create(self, request: ResourceRequest) -> str:
        """Put the filter; raises ProviderError, with the service's message, without a log group."""
        group = request.properties["LogGroupName"]
        found = request.aws.logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
        if group not in [each["logGroupName"] for each in found]:
            raise ProviderError("The specified log group does not exist.")
        return super().create(request)

    def call(self, request: ResourceRequest, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call the service, which identifies a filter by log group and name."""
        group = {"logGroupName": request.properties["LogGroupName"]}
        return super().call(request, name, {**arguments, **group})


def require_usable_key(aws: Clients, key: str, log_group_name: str) -> None:
    """Raise ProviderError, with the service's message, unless the key's policy names it.

    Conditions of the policy are not checked.
    """
    try:
        answer = aws.service("kms").get_key_policy(KeyId=key, PolicyName="default")
        statements = json.loads(answer["Policy"])["Statement"]
    except ClientError:
        statements = []
    if not any(_lets_logs_encrypt(statement) for statement in statements):
        raise ProviderError(
            "The specified KMS key does not exist or is not allowed to be used with Arn "
            f"'{_arn(aws, log_group_name)}'"
        )


def _lets_logs_encrypt(statement: Mapping[str, Any]) -> bool:
    principal = statement.get("Principal", {})
    services = _listed(principal.get("Service", []) if isinstance(principal, dict) else [])
    actions = _listed(statement.get("Action", []))
    return (
        statement["Effect"] == "Allow"
        and any(service.startswith("logs.") for service in services)
        and any(action.startswith(("kms:*", "kms:Encrypt")) for action in actions)
    )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _arn(aws: Clients, log_group_name: str) -> str:
    return aws.arn("logs", f"log-group:{log_group_name}")
