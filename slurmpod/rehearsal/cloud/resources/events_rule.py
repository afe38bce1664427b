"""AWS::Events::Rule. Events of services reach topics; schedules start nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest
from slurmpod.rehearsal.cloud.resources.tags import retag_by_arn

if TYPE_CHECKING:
    from collections.abc import Mapping

_SETTINGS = ("Description", "RoleArn", "ScheduleExpression", "State")


class Rule(Provider):
    """A rule of the default event bus, with its targets; Ref gives its name."""

    type = "AWS::Events::Rule"
    supported = frozenset({*_SETTINGS, "EventPattern", "Name", "Tags", "Targets"})
    in_place = supported - {"Name"}

    def create(self, request: ResourceRequest) -> str:
        """Put the rule."""
        name = str(request.properties.get("Name") or request.generated_name())
        self._put(request, name, **request.given("Tags"))
        return name

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Put the targets."""
        targets = request.properties.get("Targets", [])
        if targets:
            answer = request.aws.service("events").put_targets(Rule=physical_id, Targets=targets)
            for failure in answer["FailedEntries"]:
                raise ProviderError(f"{failure['TargetId']}: {failure['ErrorMessage']}")

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the ARN."""
        return {"Arn": request.aws.service("events").describe_rule(Name=physical_id)["Arn"]}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Put the rule anew, with its targets and tags."""
        self._put(request, physical_id)
        self._remove_targets(request, physical_id, previous, keep=request.properties)
        self.complete(request, physical_id)
        arn = str(self.attributes(request, physical_id)["Arn"])
        retag_by_arn("events", request, previous, ResourceARN=arn)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Remove the targets and the rule."""
        self._remove_targets(request, physical_id, request.properties, keep={})
        request.aws.service("events").delete_rule(Name=physical_id)

    def _put(self, request: ResourceRequest, name: str, **tags: Any) -> None:
        pattern = request.properties.get("EventPattern")
        request.aws.service("events").put_rule(
            Name=name,
            **request.given(*_SETTINGS),
            **({"EventPattern": json.dumps(pattern)} if pattern else {}),
            **tags,
        )

    def _remove_targets(
        self,
        request: ResourceRequest,
        name: str,
        previous: Mapping[str, Any],
        keep: Mapping[str, Any],
    ) -> None:
        gone = sorted(_target_ids(previous) - _target_ids(keep))
        if gone:
            request.aws.service("events").remove_targets(Rule=name, Ids=gone)


def _target_ids(properties: Mapping[str, Any]) -> set[str]:
    return {target["Id"] for target in properties.get("Targets", [])}
