"""Application Auto Scaling: targets and policies, which moto stores; nothing is ever scaled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import ApiResource
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import tags_of

_PLACE = ("ResourceId", "ScalableDimension", "ServiceNamespace")
"""The properties that identify a target; Ref returns them joined by `|`."""


class ScalableTarget(ApiResource):
    """A scalable target and its limits; moto ignores its tags."""

    type = "AWS::ApplicationAutoScaling::ScalableTarget"
    in_place = frozenset({"MaxCapacity", "MinCapacity", "RoleARN", "Tags"})
    supported = in_place | set(_PLACE)
    service = "application-autoscaling"
    checked_by_model = True
    creation, deletion = "register_scalable_target", "deregister_scalable_target"
    id_attributes = ("Id",)

    def create(self, request: ResourceRequest) -> str:
        """Register the target."""
        tags = tags_of(request.properties)
        given = {**self.arguments(request), **({"Tags": tags} if tags else {})}
        self.call(request, self.creation, given)
        return "|".join(request.properties[name] for name in _PLACE)

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Register it again with new limits."""
        self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Deregister the target."""
        self.call(request, self.deletion, _place(physical_id))


class ScalingPolicy(ApiResource):
    """A policy of a target, which is identified by its properties or its id."""

    type = "AWS::ApplicationAutoScaling::ScalingPolicy"
    in_place = frozenset({"PolicyType", "TargetTrackingScalingPolicyConfiguration"})
    supported = in_place | {"PolicyName", "ScalingTargetId", *_PLACE}
    apart = frozenset({"ScalingTargetId"})
    service = "application-autoscaling"
    checked_by_model = True
    creation, deletion = "put_scaling_policy", "delete_scaling_policy"
    answer = ("PolicyARN",)
    id_attributes: ClassVar = ("Arn",)

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the policy with its target's identity; raises ProviderError without a target."""
        place = _place_of(request)
        scaling = request.aws.service(self.service)
        found = scaling.describe_scalable_targets(
            ServiceNamespace=place["ServiceNamespace"],
            ResourceIds=[place["ResourceId"]],
            ScalableDimension=place["ScalableDimension"],
        )
        if not found["ScalableTargets"]:
            raise ProviderError(
                f"No scalable target registered for namespace: {place['ServiceNamespace']}, "
                f"resource ID: {place['ResourceId']}, scalable dimension: "
                f"{place['ScalableDimension']}"
            )
        return {**super().arguments(request), **place}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Put the policy again."""
        self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the policy."""
        name = request.given("PolicyName")
        self.call(request, self.deletion, {**name, **_place_of(request)})


def _place_of(request: ResourceRequest) -> dict[str, str]:
    target = request.properties.get("ScalingTargetId")
    return _place(target) if target else request.given(*_PLACE)


def _place(physical_id: str) -> dict[str, str]:
    return dict(zip(_PLACE, physical_id.split("|"), strict=True))
