"""EventBridge: rules. Events of services reach topics; schedules start nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging


class Rule(ApiResource):
    """A rule of the default event bus, with its targets; Ref gives its name."""

    type = "AWS::Events::Rule"
    in_place = frozenset(
        {"Description", "EventPattern", "RoleArn", "ScheduleExpression", "State", "Tags", "Targets"}
    )
    supported = in_place | {"Name"}
    apart = frozenset({"Targets"})
    as_json = frozenset({"EventPattern"})
    service = "events"
    creation = change = "put_rule"
    deletion = "delete_rule"
    identity = "Name"
    naming = Naming("Name")
    described_by = DescribeCall("describe_rule", "Name")
    read_attributes: ClassVar = {"Arn": ("Arn",)}
    tagging = Tagging("ResourceARN", by_attribute="Arn")

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Put the targets."""
        targets = request.properties.get("Targets", [])
        if targets:
            arguments = {"Rule": physical_id, "Targets": targets}
            answer = self.call(request, "put_targets", arguments)
            for failure in answer["FailedEntries"]:
                raise ProviderError(f"{failure['TargetId']}: {failure['ErrorMessage']}")

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Put the rule again, with its targets and tags."""
        gone = _target_ids(previous) - _target_ids(request.properties)
        self._remove_targets(request, physical_id, gone)
        super().update(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Remove the targets and the rule."""
        self._remove_targets(request, physical_id, _target_ids(request.properties))
        super().delete(request, physical_id)

    def _remove_targets(self, request: ResourceRequest, name: str, ids: set[str]) -> None:
        if ids:
            self.call(request, "remove_targets", {"Rule": name, "Ids": sorted(ids)})


def _target_ids(properties: Mapping[str, Any]) -> set[str]:
    return {target["Id"] for target in properties.get("Targets", [])}
