"""Alarms for nodes: too few, failed ones, scripts that failed, findings of the health agent."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_cloudwatch, aws_lambda, aws_logs
from constructs import Construct

from slurmpod.resolve import Resolved
from slurmpod_cdk.alarm import Condition, add_alarm
from slurmpod_cdk.log_groups import CLUSTER_LOGS
from slurmpod_cdk.monitoring.events import Severity
from slurmpod_cdk.watch_metrics import FIVE_MINUTES, NAMESPACE, cluster_metric, log_metric

OUR_SCRIPTS_FAILED = '"FAILED:" "fix:"'
"""Both are in the last line of the lifecycle scripts, and together in no other line."""

SCRIPTS_FAILED = '"[SageMaker] The lifecycle scripts failed"'
"""HyperPod's message after failed scripts, including the user's own scripts."""

HEALTH_FINDING = '"HealthMonitoringAgentDetectionEvent" -"XidUserAppError"'
"""The health monitoring agent's message for each finding (developer guide, "Health Monitoring
System"), except for errors of users' programs. On clusters with Slurm its findings do not become
events, as live clusters showed (awslabs/awsome-distributed-ai, pull request 1210, 2026-07)."""

MINUTES_BETWEEN_COUNTS = 5
_Missing = aws_cloudwatch.TreatMissingData


class LogFilters(Construct):
    """Counts lines of the cluster's log group: failed scripts, findings of the health agent."""

    def __init__(
        self, scope: Construct, id_: str, *, resolved: Resolved, log_group_name: str
    ) -> None:
        super().__init__(scope, id_)
        has_own_scripts = resolved.lifecycle.own_scripts is not None
        patterns = {
            "LifecycleFailures": SCRIPTS_FAILED if has_own_scripts else OUR_SCRIPTS_FAILED,
            "HealthFindings": HEALTH_FINDING,
        }
        for name, pattern in patterns.items():
            aws_logs.CfnMetricFilter(
                self,
                name,
                log_group_name=log_group_name,
                filter_pattern=pattern,
                metric_transformations=[
                    aws_logs.CfnMetricFilter.MetricTransformationProperty(
                        metric_namespace=NAMESPACE,
                        metric_name=log_metric(name, resolved.name).metric_name,
                        metric_value="1",
                        default_value=0,
                        unit="Count",
                    )
                ],
            )


class ClusterAlarms(Construct):
    """Alarms about nodes, once the cluster exists.

    Nodes are counted every five minutes. If a count is missing, CloudWatch uses older counts; with
    none at all, the alarm has insufficient data, and the alarm for the counting itself goes off.
    For log lines, no line means no failure.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        counting: aws_lambda.IFunction,
        topic_arns: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        assert resolved.monitoring  # noqa: S101  # the stack is made for it alone
        self._topics = topic_arns
        self._watch_counts(resolved, resolved.monitoring.alarms.missing_nodes_minutes)
        self._watch_log(resolved.name)
        self._add(
            "CountingFails",
            Condition(counting.metric_errors(period=FIVE_MINUTES), 0, 3, _Missing.NOT_BREACHING),
            severity="warning",
            text="the nodes are no longer counted, so no alarm reports missing ones: see the "
            "log of the function",
        )

    def _watch_counts(self, resolved: Resolved, minutes: int) -> None:
        """Alarm on missing and failed nodes; nodes of a single count may be in replacement."""
        cluster = resolved.name
        see = (
            f"aws sagemaker list-cluster-nodes --region {resolved.region} --cluster-name {cluster}"
        )
        self._add(
            "NodesMissing",
            _counted("NodesMissing", cluster, counts_in(minutes)),
            severity="critical",
            text=f"fewer nodes in service than wanted for {minutes} minutes; see which: {see}",
        )
        self._add(
            "NodesFailed",
            _counted("NodesFailed", cluster, 2),
            severity="critical",
            text=f"nodes have failed and are still there; see why: {see}",
        )

    def _watch_log(self, cluster: str) -> None:
        self._add(
            "LifecycleFailures",
            _lines("LifecycleFailures", cluster),
            severity="critical",
            text="lifecycle scripts failed on a node: the last line of its log in "
            f"{CLUSTER_LOGS}/{cluster} says which step, why, and what to do",
        )
        self._add(
            "HealthFindings",
            _lines("HealthFindings", cluster),
            severity="warning",
            text="the health monitoring agent found something on a node: see its stream "
            f"SagemakerHealthMonitoringAgent in {CLUSTER_LOGS}/{cluster}",
        )

    def _add(self, id_: str, condition: Condition, *, severity: Severity, text: str) -> None:
        add_alarm(self, id_, condition, text=text, topic_arn=self._topics[severity])


def counts_in(minutes: int) -> int:
    """Return the number of counts that cover at least this many minutes."""
    return -(-minutes // MINUTES_BETWEEN_COUNTS)


def _counted(metric: str, cluster: str, counts: int) -> Condition:
    return Condition(cluster_metric(metric, cluster, "Maximum"), 0, counts, _Missing.MISSING)


def _lines(metric: str, cluster: str) -> Condition:
    return Condition(log_metric(metric, cluster), 0, 1, _Missing.NOT_BREACHING)
