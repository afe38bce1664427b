"""KMS: keys and their aliases. Services store the data, but do not encrypt it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import ApiResource, DescribeCall
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.tags import Tagging, as_kms_pairs

_WAITING_DAYS = 30


class Key(ApiResource):
    """A key, with KMS's default policy unless given; deletion is scheduled."""

    type = "AWS::KMS::Key"
    apart = frozenset(
        {"EnableKeyRotation", "Enabled", "PendingWindowInDays", "RotationPeriodInDays"}
    )
    in_place = apart | {"Description", "KeyPolicy", "Tags"}
    supported = in_place | {"KeySpec", "KeyUsage", "MultiRegion", "Origin"}
    renamed: ClassVar = {"KeyPolicy": "Policy"}
    as_json = frozenset({"KeyPolicy"})
    service = "kms"
    creation, deletion = "create_key", "schedule_key_deletion"
    identity = "KeyId"
    answer = ("KeyMetadata", "KeyId")
    described_by = DescribeCall("describe_key", "KeyId", ("KeyMetadata",))
    id_attributes = ("KeyId",)
    read_attributes: ClassVar = {"Arn": ("Arn",)}
    tagging = Tagging("KeyId", write=as_kms_pairs)

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Set rotation and state; each needs a separate call."""
        kms, properties = request.aws.service("kms"), request.properties
        if properties.get("EnableKeyRotation"):
            kms.enable_key_rotation(KeyId=physical_id, **request.given("RotationPeriodInDays"))
        else:
            kms.disable_key_rotation(KeyId=physical_id)
        (kms.enable_key if properties.get("Enabled", True) else kms.disable_key)(KeyId=physical_id)

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Update description, policy, rotation, state and tags."""
        kms, properties = request.aws.service("kms"), request.properties
        kms.update_key_description(KeyId=physical_id, Description=properties.get("Description", ""))
        if "KeyPolicy" in properties:
            kms.put_key_policy(
                KeyId=physical_id, PolicyName="default", Policy=json.dumps(properties["KeyPolicy"])
            )
        super().update(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Schedule the deletion, as CloudFormation does."""
        days = request.properties.get("PendingWindowInDays", _WAITING_DAYS)
        self.call(request, self.deletion, {"KeyId": physical_id, "PendingWindowInDays": days})


class Alias(ApiResource):
    """A name of a key; Ref gives it."""

    type = "AWS::KMS::Alias"
    supported = frozenset({"AliasName", "TargetKeyId"})
    in_place = frozenset({"TargetKeyId"})
    service = "kms"
    creation, change, deletion = "create_alias", "update_alias", "delete_alias"
    identity = "AliasName"
    checked_by_model = True
