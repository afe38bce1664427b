"""AWS::CloudWatch::Alarm. The embedded AWS keeps alarms; they never go off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.api_resource import ApiResource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest

_SETTINGS = frozenset(
    {
        "ActionsEnabled",
        "AlarmActions",
        "AlarmDescription",
        "ComparisonOperator",
        "DatapointsToAlarm",
        "Dimensions",
        "EvaluateLowSampleCountPercentile",
        "EvaluationPeriods",
        "ExtendedStatistic",
        "InsufficientDataActions",
        "MetricName",
        "Metrics",
        "Namespace",
        "OKActions",
        "Period",
        "Statistic",
        "Threshold",
        "ThresholdMetricId",
        "TreatMissingData",
        "Unit",
    }
)


class Alarm(ApiResource):
    """An alarm of a metric; Ref gives its name."""

    type = "AWS::CloudWatch::Alarm"
    supported = _SETTINGS | {"AlarmName", "Tags"}
    in_place = _SETTINGS | {"Tags"}
    service = "cloudwatch"
    creation = change = "put_metric_alarm"
    deletion = "delete_alarms"
    identity = "AlarmName"
    tagged_by = "ResourceARN"

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Name the alarm."""
        return {"AlarmName": request.generated_name(255), **request.properties}

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the ARN."""
        aws = request.aws
        prefix = f"arn:{aws.partition}:cloudwatch:{aws.region}:{aws.account}:alarm"
        return {"Arn": f"{prefix}:{physical_id}"}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the alarm."""
        self.call(request, self.deletion, {"AlarmNames": [physical_id]})
