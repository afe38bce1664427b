"""CloudWatch: alarms, which never go off here, and dashboards, which moto stores without tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_aws.resources.api_resource import ApiResource, Naming
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging

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
    in_place = _SETTINGS | {"Tags"}
    supported = in_place | {"AlarmName"}
    service = "cloudwatch"
    creation = change = "put_metric_alarm"
    deletion = "delete_alarms"
    identity = "AlarmName"
    deleted_by = "AlarmNames"
    checked_by_model = True
    naming = Naming("AlarmName", 255)
    tagging = Tagging("ResourceARN", by_attribute="Arn")

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the ARN."""
        return {"Arn": request.aws.arn("cloudwatch", f"alarm:{physical_id}")}


class Dashboard(ApiResource):
    """A dashboard; Ref gives its name."""

    type = "AWS::CloudWatch::Dashboard"
    supported = frozenset({"DashboardBody", "DashboardName", "Tags"})
    in_place = frozenset({"DashboardBody", "Tags"})
    service = "cloudwatch"
    creation = change = "put_dashboard"
    deletion = "delete_dashboards"
    identity = "DashboardName"
    deleted_by = "DashboardNames"
    naming = Naming("DashboardName", 255)

    def call(self, request: ResourceRequest, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call the service; raises ProviderError for an invalid dashboard."""
        answer = super().call(request, name, arguments)
        for problem in answer.get("DashboardValidationMessages", []):
            raise ProviderError(f"{problem.get('DataPath', '')}: {problem.get('Message', '')}")
        return answer
