"""The cluster watch stack: alarms and rules that need the cluster."""

from __future__ import annotations

from aws_cdk import aws_kms
from constructs import Construct

from slurmpod.resolve import Resolved
from slurmpod_cdk.cluster.stack import ClusterStack
from slurmpod_cdk.cluster_watch.cluster_alarms import ClusterAlarms, LogFilters
from slurmpod_cdk.cluster_watch.cluster_logs import ClusterLogs
from slurmpod_cdk.cluster_watch.node_count import NodeCount
from slurmpod_cdk.cluster_watch.observability_extension import ObservabilityExtension
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.monitoring.stack import Watching


def cluster_watch_of(
    scope: Construct, resolved: Resolved, cluster: ClusterStack, watching: Watching | None
) -> ClusterWatchStack | None:
    """Make what watches nodes and their logs; None where the environment asks for nothing."""
    if resolved.stacks.cluster_watch is None or watching is None or watching.key_arn is None:
        return None
    return ClusterWatchStack(
        scope,
        resolved.stacks.cluster_watch,
        resolved=resolved,
        cluster=cluster,
        watching=watching,
        key_arn=watching.key_arn,
    )


class ClusterWatchStack(EnvironmentStack):
    """Settings and filters of the cluster's logs, node count and alarms, HyperPod's collector.

    A stack of its own: CloudFormation rolls a stack back as a whole, and a log group that cannot be
    encrypted must not take a cluster with it that took an hour to make.
    """

    def __init__(
        self,
        scope: Construct,
        stack_name: str,
        *,
        resolved: Resolved,
        cluster: ClusterStack,
        watching: Watching,
        key_arn: str,
    ) -> None:
        super().__init__(
            scope,
            stack_name,
            resolved=resolved,
            description=f"Logs and node alarms of the HyperPod cluster {resolved.name}",
        )
        log_group = cluster.log_group_name
        logs = ClusterLogs(self, "Logs", resolved=resolved, name=log_group, key_arn=key_arn)
        filters = LogFilters(self, "Filters", resolved=resolved, log_group_name=log_group)
        filters.node.add_dependency(logs)
        counting = NodeCount(
            self,
            "NodeCount",
            cluster_name=resolved.name,
            cluster_arn=cluster.cluster_arn,
            key=aws_kms.Key.from_key_arn(self, "Key", key_arn),
        )
        ClusterAlarms(
            self,
            "Alarms",
            resolved=resolved,
            counting=counting.function,
            topic_arns=watching.topic_arns,
        )
        if resolved.monitoring and resolved.monitoring.observability:
            ObservabilityExtension(
                self,
                "Observability",
                settings=resolved.monitoring.observability,
                cluster_arn=cluster.cluster_arn,
                tags=resolved.tags,
            )
