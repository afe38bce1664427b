"""AWS::KMS::Key and AWS::KMS::Alias. What services encrypt with keys is kept, not encrypted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.api_resource import ApiResource
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest
from slurmpod.rehearsal.cloud.resources.tags import tag_changes

if TYPE_CHECKING:
    from collections.abc import Mapping

_CREATION = ("Description", "KeySpec", "KeyUsage", "MultiRegion", "Origin")
_WAITING_DAYS = 30


class Key(Provider):
    """A key; deleting it begins its waiting period."""

    type = "AWS::KMS::Key"
    supported = frozenset(
        {
            *_CREATION,
            "EnableKeyRotation",
            "Enabled",
            "KeyPolicy",
            "PendingWindowInDays",
            "RotationPeriodInDays",
            "Tags",
        }
    )
    in_place = (supported - frozenset(_CREATION)) | {"Description"}

    def create(self, request: ResourceRequest) -> str:
        """Create the key, with KMS's own policy unless the template has one."""
        policy = request.properties.get("KeyPolicy")
        return str(
            request.aws.service("kms").create_key(
                Tags=_tags(request.properties.get("Tags", [])),
                **request.given(*_CREATION),
                **({"Policy": json.dumps(policy)} if policy else {}),
            )["KeyMetadata"]["KeyId"]
        )

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set rotation and state; each needs a call of its own."""
        kms, properties = request.aws.service("kms"), request.properties
        if properties.get("EnableKeyRotation"):
            kms.enable_key_rotation(KeyId=physical_id, **request.given("RotationPeriodInDays"))
        else:
            kms.disable_key_rotation(KeyId=physical_id)
        (kms.enable_key if properties.get("Enabled", True) else kms.disable_key)(KeyId=physical_id)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the ARN."""
        key = request.aws.service("kms").describe_key(KeyId=physical_id)["KeyMetadata"]
        return {"Arn": key["Arn"], "KeyId": physical_id}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set description, policy, rotation, state and tags anew."""
        kms, properties = request.aws.service("kms"), request.properties
        kms.update_key_description(KeyId=physical_id, Description=properties.get("Description", ""))
        if "KeyPolicy" in properties:
            kms.put_key_policy(
                KeyId=physical_id, PolicyName="default", Policy=json.dumps(properties["KeyPolicy"])
            )
        self.complete(request, physical_id)
        gone, tags = tag_changes(previous, properties)
        kms.untag_resource(KeyId=physical_id, TagKeys=gone)
        kms.tag_resource(KeyId=physical_id, Tags=_tags(tags))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Schedule the deletion, as CloudFormation does."""
        request.aws.service("kms").schedule_key_deletion(
            KeyId=physical_id,
            PendingWindowInDays=request.properties.get("PendingWindowInDays", _WAITING_DAYS),
        )


class Alias(ApiResource):
    """A name of a key; Ref gives it."""

    type = "AWS::KMS::Alias"
    supported = frozenset({"AliasName", "TargetKeyId"})
    in_place = frozenset({"TargetKeyId"})
    service = "kms"
    creation = "create_alias"
    change = "update_alias"
    deletion = "delete_alias"
    identity = "AliasName"


def _tags(tags: list[Any]) -> list[Any]:
    return [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in tags]
