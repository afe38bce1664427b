"""Alarms for an endpoint: requests that fail, and an endpoint that nobody uses, which costs."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, aws_cloudwatch
from constructs import Construct

from slurmpod_cdk.alarm import Condition, add_alarm
from slurmpod_cdk.endpoint.model_endpoint import VARIANT
from slurmpod_cdk.watch_metrics import FIVE_MINUTES

PERIODS_WITH_ERRORS = 3
"""Periods in a row: one failed request tells nobody, a quarter of an hour of them does."""

DAY = Duration.days(1)
_Missing = aws_cloudwatch.TreatMissingData


class EndpointAlarms(Construct):
    """Metrics of SageMaker, which reports none where there were no requests.

    Source: SageMaker developer guide, "Amazon SageMaker AI metrics in Amazon CloudWatch", endpoint
    invocation metrics.
    """

    def __init__(
        self, scope: Construct, id_: str, *, endpoint_name: str, topic_arns: Mapping[str, str]
    ) -> None:
        super().__init__(scope, id_)
        errors = _sum("Invocation5XXErrors", endpoint_name, FIVE_MINUTES)
        add_alarm(
            self,
            "Errors",
            Condition(errors, 0, PERIODS_WITH_ERRORS, _Missing.NOT_BREACHING),
            text="the endpoint answered requests with errors of its own for a quarter of an hour: "
            "read its log group, below /aws/sagemaker/Endpoints",
            topic_arn=topic_arns["warning"],
        )
        requests = _sum("Invocations", endpoint_name, DAY)
        fewer = aws_cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
        add_alarm(
            self,
            "Unused",
            Condition(requests, 1, 1, _Missing.BREACHING, fewer),
            text="nobody has asked the endpoint anything for a day, and its instances cost: "
            "destroy its stack (slurmpod destroy FILE --only endpoint) and remove "
            "services.endpoint",
            topic_arn=topic_arns["info"],
        )


def _sum(name: str, endpoint: str, period: Duration) -> aws_cloudwatch.Metric:
    return aws_cloudwatch.Metric(
        namespace="AWS/SageMaker",
        metric_name=name,
        dimensions_map={"EndpointName": endpoint, "VariantName": VARIANT},
        statistic="Sum",
        period=period,
    )
