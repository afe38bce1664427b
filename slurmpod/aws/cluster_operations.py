"""HyperPod's operations on a cluster, its health checks, and the state of Slurm's daemons.

Source: API reference of SageMaker, StartClusterHealthCheck, ListClusterOperations,
DescribeClusterOperation, ListClusterEvents and DescribeClusterEvent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable

IN_PROGRESS = "InProgress"
DEEP_CHECK = "DeepHealthCheck"
UNHEALTHY = "Unhealthy"

NEWEST = 20
"""How many operations, and how many cluster events, are read."""

_OF_LIFE = re.compile(r"^Cluster \S+ (?:creation|update|deletion) ")
"""Matches events of the cluster's creation and changes, which say nothing of its daemons."""


@dataclass(frozen=True)
class GroupWork:
    """The part of an operation that concerns one group.

    `instance_ids` is empty for all nodes; `checks` or the sizes are set, depending on the kind.
    """

    group: str
    instance_ids: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    before: int = 0
    wanted: int = 0

    def covers(self, group: str, instance_id: str) -> bool:
        """Return whether a node is part of it."""
        return self.group == group and (not self.instance_ids or instance_id in self.instance_ids)


@dataclass(frozen=True)
class ClusterOperation:
    """A long-running request to a cluster: `Scaling` or `DeepHealthCheck`."""

    id: str
    kind: str
    status: str
    began: datetime
    groups: tuple[GroupWork, ...]

    def covers(self, group: str, instance_id: str) -> bool:
        """Return whether a node is part of it."""
        return any(each.covers(group, instance_id) for each in self.groups)


@dataclass(frozen=True)
class DaemonHealth:
    """The last reported state of a Slurm daemon; `reason` is empty while it is healthy."""

    time: datetime
    component: str
    status: str
    reason: str


@dataclass(frozen=True)
class DatabaseChange:
    """The last change of the accounting database; `failure` is empty if it succeeded.

    `rollback` is true if the former database is in use again, `advisory` is the remaining work.
    """

    time: datetime
    rollback: str
    failure: str
    advisory: str


@dataclass(frozen=True)
class SlurmReport:
    """HyperPod's last report on Slurm's accounting; None for each part without a report."""

    daemon: DaemonHealth | None = None
    database: DatabaseChange | None = None


@dataclass(frozen=True)
class Extension:
    """A HyperPod extension on the nodes; `issues` are the problems and their node counts."""

    name: str
    version: str
    status: str
    active: int
    nodes: int
    issues: tuple[str, ...]


@dataclass(frozen=True)
class ClusterOperations:
    """The operations of one cluster; each method raises AwsUnavailable when the request fails."""

    clients: AwsClients
    cluster: str

    def start_checks(self, groups: Sequence[GroupWork]) -> None:
        """Start health checks of nodes; HyperPod accepts all of them or none."""
        asked: Any = [
            {
                "InstanceGroupName": each.group,
                "InstanceIds": list(each.instance_ids),
                "DeepHealthChecks": list(each.checks),
            }
            for each in groups
        ]
        with as_unavailable(f"check nodes of {self.cluster}"):
            self.clients.sagemaker.start_cluster_health_check(
                ClusterName=self.cluster, DeepHealthCheckConfigurations=asked
            )

    def newest(self, **asked: str) -> tuple[ClusterOperation, ...]:
        """Return the newest operations of a `Type` or `Status`, newest first."""
        with as_unavailable(f"list the operations of {self.cluster}"):
            sagemaker: Any = self.clients.sagemaker
            listed = sagemaker.list_cluster_operations(
                ClusterName=self.cluster, MaxResults=NEWEST, **asked
            )
            found = [
                sagemaker.describe_cluster_operation(
                    ClusterName=self.cluster, OperationId=each["OperationId"]
                )
                for each in listed["ClusterOperationSummaries"]
            ]
        return tuple(map(_operation, found))

    def extensions(self) -> tuple[Extension, ...]:
        """Return the cluster's extensions; none without continuous provisioning."""
        sagemaker: Any = self.clients.sagemaker
        with as_unavailable(f"list the extensions of {self.cluster}"):
            arn = sagemaker.describe_cluster(ClusterName=self.cluster)["ClusterArn"]
            listed = sagemaker.list_cluster_extensions(ClusterArn=arn)["Extensions"]
            found = [
                sagemaker.describe_cluster_extension(
                    ClusterArn=arn, ExtensionArn=each["ExtensionArn"]
                )
                for each in listed
            ]
        return tuple(map(_extension, found))

    def slurm(self) -> SlurmReport:
        """Return the state of Slurm's accounting from the newest events.

        Clusters without continuous provisioning have no events, so their state is unknown.
        """
        try:
            with as_unavailable(f"list the events of {self.cluster}"):
                return _slurm_report(self._newest_events())
        except AwsUnavailable as refusal:
            if "Continuous" in str(refusal):
                return SlurmReport()
            raise

    def _newest_events(self) -> Iterator[Mapping[str, Any]]:
        sagemaker: Any = self.clients.sagemaker
        listed = sagemaker.list_cluster_events(
            ClusterName=self.cluster, ResourceType="Cluster", MaxResults=NEWEST
        )
        for each in listed.get("Events", []):
            if not _OF_LIFE.match(each.get("Description", "")):
                yield sagemaker.describe_cluster_event(
                    ClusterName=self.cluster, EventId=each["EventId"]
                )["EventDetails"]


def of_node(
    operations: Collection[ClusterOperation], group: str, instance_id: str
) -> ClusterOperation | None:
    """Return the newest operation that includes a node."""
    return next((each for each in operations if each.covers(group, instance_id)), None)


def _extension(found: Mapping[str, Any]) -> Extension:
    details, nodes = found["ExtensionDetails"], found.get("NodeSummary", {})
    issues = found.get("Health", {}).get("Issues", ())
    return Extension(
        name=details["ExtensionName"],
        version=details["ExtensionVersion"],
        status=details["Status"],
        active=nodes.get("ActiveCount", 0),
        nodes=nodes.get("TotalCount", 0),
        issues=tuple(
            f"{each['Code']} on {each['NodeCount']} nodes: {each['Message']}" for each in issues
        ),
    )


def _slurm_report(events: Iterator[Mapping[str, Any]]) -> SlurmReport:
    """Read events, newest first, until one of the daemon and one of the database are found."""
    daemon: DaemonHealth | None = None
    database: DatabaseChange | None = None
    for event in events:
        metadata = event.get("EventDetails", {}).get("EventMetadata", {})
        if daemon is None and (health := metadata.get("SlurmHealth")):
            daemon = DaemonHealth(
                event["EventTime"],
                health["Component"].lower(),
                health["Status"],
                health.get("Reason", ""),
            )
        if database is None and (change := metadata.get("DatabaseConfiguration")) is not None:
            database = DatabaseChange(
                event["EventTime"],
                change.get("RollbackStatus", ""),
                change.get("FailureMessage", ""),
                change.get("Advisory", ""),
            )
        if daemon and database:
            break
    return SlurmReport(daemon, database)


def _operation(found: Mapping[str, Any]) -> ClusterOperation:
    checks = [
        GroupWork(
            each["InstanceGroupName"],
            tuple(each.get("InstanceIds", ())),
            tuple(each["DeepHealthChecks"]),
        )
        for each in found.get("DeepHealthCheckDetails", ())
    ]
    sizes = [
        GroupWork(
            each["InstanceGroupName"],
            before=each.get("Original", {}).get("TargetCount", 0),
            wanted=each.get("Desired", {}).get("TargetCount", 0),
        )
        for each in found.get("ScalingDetails", ())
    ]
    return ClusterOperation(
        id=found["OperationId"],
        kind=found["Type"],
        status=found["Status"],
        began=found["CreationTime"],
        groups=(*checks, *sizes),
    )
