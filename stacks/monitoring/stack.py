"""The monitoring stack: topics with their subscribers, and the workspaces for metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import CfnOutput, aws_cloudwatch, aws_kms
from constructs import Construct

from slurmpod.environment.monitoring import Budget, Monitoring
from slurmpod.resolve import Resolved
from slurmpod.resolve.environment import ENVIRONMENT_TAG
from slurmpod_cdk.alarm import Condition, add_alarm
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.generation import deploy_again_with_each
from slurmpod_cdk.monitoring.alarms import NatAlarms, StorageAlarms
from slurmpod_cdk.monitoring.budget import MonthlyBudget
from slurmpod_cdk.monitoring.dashboard import Dashboard
from slurmpod_cdk.monitoring.events import EventRules
from slurmpod_cdk.monitoring.topics import MonitoringKey, SeverityTopics
from slurmpod_cdk.monitoring.workspaces import GrafanaWorkspace, PrometheusWorkspace
from slurmpod_cdk.network.stack import ClusterNetwork
from slurmpod_cdk.storage.stack import FileSystems


@dataclass(frozen=True)
class Watching:
    """The resources that others refer to: topics by severity, and the workspace for metrics.

    `topic_arns` is empty and `key_arn` None if there is only a budget.
    """

    stack: MonitoringStack
    topic_arns: Mapping[str, str]
    key_arn: str | None
    workspace_arn: str | None
    remote_write_url: str | None


def watching_of(
    scope: Construct, resolved: Resolved, network: ClusterNetwork, file_systems: FileSystems
) -> Watching | None:
    """Make the monitoring if the environment has any, else return None."""
    if resolved.stacks.monitoring is None:
        return None
    stack = MonitoringStack(
        scope,
        resolved.stacks.monitoring,
        resolved=resolved,
        network=network,
        file_systems=file_systems,
    )
    return Watching(
        stack=stack,
        topic_arns=stack.topic_arns,
        key_arn=stack.key_arn,
        workspace_arn=stack.workspace_arn,
        remote_write_url=stack.remote_write_url,
    )


class MonitoringStack(EnvironmentStack):
    """Topics, event rules, alarms, a budget. Deployed before the cluster, to report on it.

    Monitoring that requires an existing cluster is in `stacks.cluster_watch`.
    """

    def __init__(
        self,
        scope: Construct,
        stack_name: str,
        *,
        resolved: Resolved,
        network: ClusterNetwork,
        file_systems: FileSystems,
    ) -> None:
        super().__init__(
            scope,
            stack_name,
            resolved=resolved,
            description=f"Topics, alarms and budget of the HyperPod cluster {resolved.name}",
        )
        self.topic_arns: Mapping[str, str] = {}
        self.key_arn: str | None = None
        self.workspace_arn: str | None = None
        self.remote_write_url: str | None = None
        self._topics: SeverityTopics | None = None
        if resolved.monitoring:
            deploy_again_with_each(self, resolved)
            self._watch(resolved, resolved.monitoring, network, file_systems)
            self._add_outputs()
        if resolved.budget:
            self._limit(resolved.name, resolved.budget)

    def _watch(
        self,
        resolved: Resolved,
        monitoring: Monitoring,
        network: ClusterNetwork,
        file_systems: FileSystems,
    ) -> None:
        key = MonitoringKey(self, "Encryption", resolved=resolved).key
        self._topics = topics = SeverityTopics(self, "Topics", resolved=resolved, key=key)
        self.key_arn, self.topic_arns = key.key_arn, topics.arns
        events = EventRules(self, "Events", resolved=resolved, topic_arns=topics.arns)
        _watch_undelivered(self, events, topics.arns["warning"])
        self._add_alarms(resolved, monitoring, network, file_systems)
        if monitoring.dashboard:
            Dashboard(
                self,
                "Dashboard",
                resolved=resolved,
                file_systems=file_systems,
                gateways=network.nat_gateway_ids,
            )
        if monitoring.prometheus:
            self._collect_metrics(resolved, monitoring, key)

    def _limit(self, name: str, budget: Budget) -> None:
        """Make the budget after the policy that allows it to publish."""
        monthly = MonthlyBudget(
            self,
            "Budget",
            budget=budget,
            environment=name,
            topic_arn=self.topic_arns.get("warning"),
        )
        if self._topics:
            monthly.node.add_dependency(self._topics)
        CfnOutput(
            self,
            "CostAllocationTag",
            value=ENVIRONMENT_TAG,
            description="Activate this tag in Billing, cost allocation tags: the budget counts "
            "nothing before",
        )

    def _add_alarms(
        self,
        resolved: Resolved,
        monitoring: Monitoring,
        network: ClusterNetwork,
        file_systems: FileSystems,
    ) -> None:
        StorageAlarms(
            self,
            "Storage",
            resolved=resolved,
            file_systems=file_systems,
            topic_arns=self.topic_arns,
        )
        if monitoring.alarms.nat_gib_per_hour is not None:
            NatAlarms(
                self,
                "NatGateways",
                gateways=network.nat_gateway_ids,
                gib_per_hour=monitoring.alarms.nat_gib_per_hour,
                topic_arn=self.topic_arns["warning"],
            )

    def _add_outputs(self) -> None:
        for severity, arn in self.topic_arns.items():
            CfnOutput(
                self,
                f"{severity.title()}TopicArn",
                value=arn,
                description=f"Topic for others to subscribe to: {severity}",
            )

    def _collect_metrics(
        self, resolved: Resolved, monitoring: Monitoring, key: aws_kms.IKey
    ) -> None:
        workspace = PrometheusWorkspace(
            self, "Prometheus", resolved=resolved, topic_arns=self.topic_arns, key=key
        )
        self.workspace_arn = workspace.arn
        self.remote_write_url = workspace.remote_write_url
        if monitoring.grafana:
            GrafanaWorkspace(self, "Grafana", resolved=resolved, workspace_arn=workspace.arn)


def _watch_undelivered(scope: Construct, events: EventRules, topic_arn: str) -> None:
    """Alarm on undelivered events; alarms use another path and may still arrive."""
    visible = events.undelivered.metric_approximate_number_of_messages_visible(statistic="Maximum")
    missing = aws_cloudwatch.TreatMissingData.NOT_BREACHING
    add_alarm(
        scope,
        "EventsUndelivered",
        Condition(visible, 0, 1, missing),
        text="events of the cluster could not be sent to their topic: see the policies of topics "
        "and key, and read the queue of undelivered events",
        topic_arn=topic_arn,
    )
