"""One alarm, with the topic that it notifies."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_cloudwatch
from constructs import Construct

MORE_THAN = aws_cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
NOT_LESS_THAN = aws_cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD


@dataclass(frozen=True)
class Condition:
    """When an alarm goes off: after `periods` consecutive data points beyond the threshold.

    `missing` is how CloudWatch treats a missing data point.
    """

    metric: aws_cloudwatch.IMetric
    threshold: float
    periods: int
    missing: aws_cloudwatch.TreatMissingData
    comparison: aws_cloudwatch.ComparisonOperator = MORE_THAN


def add_alarm(
    scope: Construct, id_: str, condition: Condition, *, text: str, topic_arn: str
) -> aws_cloudwatch.Alarm:
    """Notify a topic when `condition` starts and ends; `text` says what to do about it."""
    alarm = aws_cloudwatch.Alarm(
        scope,
        id_,
        alarm_description=text,
        metric=condition.metric,
        threshold=condition.threshold,
        evaluation_periods=condition.periods,
        comparison_operator=condition.comparison,
        treat_missing_data=condition.missing,
    )
    resource = alarm.node.default_child
    if isinstance(resource, aws_cloudwatch.CfnAlarm):
        resource.alarm_actions = resource.ok_actions = [topic_arn]
    return alarm
