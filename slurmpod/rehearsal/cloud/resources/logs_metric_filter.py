"""AWS::Logs::MetricFilter. The embedded AWS keeps filters; no line is ever counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class MetricFilter(Provider):
    """A filter of a log group that is there; Ref gives its name."""

    type = "AWS::Logs::MetricFilter"
    supported = frozenset({"FilterName", "FilterPattern", "LogGroupName", "MetricTransformations"})
    in_place = frozenset({"FilterPattern", "MetricTransformations"})

    def create(self, request: ResourceRequest) -> str:
        """Put the filter; raises ProviderError, with the service's words, without a log group."""
        name = str(request.properties.get("FilterName") or request.generated_name(512))
        group = request.properties["LogGroupName"]
        found = request.aws.logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
        if group not in [each["logGroupName"] for each in found]:
            raise ProviderError("The specified log group does not exist.")
        self._put(request, name)
        return name

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Put the filter anew."""
        self._put(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the filter."""
        request.aws.logs.delete_metric_filter(
            logGroupName=request.properties["LogGroupName"], filterName=physical_id
        )

    def _put(self, request: ResourceRequest, name: str) -> None:
        properties = request.properties
        request.aws.service("logs").put_metric_filter(
            logGroupName=properties["LogGroupName"],
            filterName=name,
            filterPattern=properties["FilterPattern"],
            metricTransformations=[_spelled(each) for each in properties["MetricTransformations"]],
        )


def _spelled(transformation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a transformation as the API spells it: metricName, not MetricName."""
    return {name[0].lower() + name[1:]: value for name, value in transformation.items()}
