"""AWS::Logs::LogGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.log_encryption import require_usable_key
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class LogGroup(Provider):
    """A log group of CloudWatch Logs."""

    type = "AWS::Logs::LogGroup"
    supported = frozenset({"KmsKeyId", "LogGroupName", "RetentionInDays", "Tags"})
    in_place = frozenset({"KmsKeyId", "RetentionInDays", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the log group."""
        name = str(request.properties.get("LogGroupName") or request.generated_name(512))
        _require_usable_key(request, name)
        request.aws.logs.create_log_group(logGroupName=name, tags=_tags(request.properties))
        return name

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set the key, and how long events are kept."""
        key = request.properties.get("KmsKeyId")
        if key is None:
            request.aws.logs.disassociate_kms_key(logGroupName=physical_id)
        else:
            request.aws.logs.associate_kms_key(logGroupName=physical_id, kmsKeyId=key)
        days = request.properties.get("RetentionInDays")
        if days is None:
            request.aws.logs.delete_retention_policy(logGroupName=physical_id)
        else:
            request.aws.logs.put_retention_policy(logGroupName=physical_id, retentionInDays=days)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the ARN as CloudFormation writes it, with `:*` at its end."""
        aws = request.aws
        prefix = f"arn:{aws.partition}:logs:{aws.region}:{aws.account}:log-group"
        return {"Arn": f"{prefix}:{physical_id}:*"}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set key, retention and tags anew."""
        _require_usable_key(request, physical_id)
        self.complete(request, physical_id)
        arn = str(self.attributes(request, physical_id)["Arn"]).removesuffix(":*")
        old, new = _tags(previous), _tags(request.properties)
        gone = sorted(old.keys() - new.keys())
        if gone:
            request.aws.logs.untag_resource(resourceArn=arn, tagKeys=gone)
        if new:
            request.aws.logs.tag_resource(resourceArn=arn, tags=new)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the log group."""
        request.aws.logs.delete_log_group(logGroupName=physical_id)


def _require_usable_key(request: ResourceRequest, name: str) -> None:
    if "KmsKeyId" in request.properties:
        require_usable_key(request.aws, request.properties["KmsKeyId"], name)


def _tags(properties: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])}
