"""Deployed stacks of an environment; the nodes of its cluster, and their logs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable, suppressed
from slurmpod.aws.stack_events import StackEvents

if TYPE_CHECKING:
    from types_boto3_cloudformation.type_defs import StackTypeDef
    from types_boto3_sagemaker.type_defs import ClusterNodeSummaryTypeDef


@dataclass(frozen=True)
class Stack:
    """A CloudFormation stack: its status, why it failed (empty if it did not), and its outputs.

    `changed` is when its last creation or update began, in ISO 8601.
    """

    name: str
    status: str
    failure: str
    outputs: Mapping[str, str]
    changed: str = ""


@dataclass(frozen=True)
class ClusterNode:
    """A node of a HyperPod cluster, as ListClusterNodes and DescribeClusterNode tell it.

    `private_ip` is empty while the node has no address.
    """

    group: str
    instance_id: str
    instance_type: str
    status: str
    private_ip: str

    @property
    def hostname(self) -> str:
        """The node's host name, which is also its name in Slurm; its id while it has no address."""
        if not self.private_ip:
            return self.instance_id
        return f"ip-{self.private_ip.replace('.', '-')}"


@dataclass(frozen=True)
class Deployment:
    """Questions to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def stacks(self, names: Iterable[str]) -> tuple[Stack, ...]:
        """Return those of the named stacks that exist, in the order of the names."""
        with as_unavailable("describe the stacks"):
            pages = self.clients.cloudformation.get_paginator("describe_stacks").paginate()
            found = {stack["StackName"]: stack for page in pages for stack in page["Stacks"]}
            return tuple(self._stack(found[name]) for name in names if name in found)

    def cluster_nodes(
        self, cluster: str, instance_ids: Collection[str] | None = None
    ) -> tuple[ClusterNode, ...]:
        """Return the nodes of a cluster, group by group in the order of their addresses.

        With `instance_ids` those alone, as each one takes a request of its own. Nodes that go
        meanwhile are left out.
        """
        with as_unavailable(f"describe the nodes of {cluster}"):
            pages = self.clients.sagemaker.get_paginator("list_cluster_nodes").paginate(
                ClusterName=cluster
            )
            found = [
                self._node(cluster, summary)
                for page in pages
                for summary in page["ClusterNodeSummaries"]
                if instance_ids is None or summary["InstanceId"] in instance_ids
            ]
        nodes = (node for node in found if node)
        return tuple(sorted(nodes, key=lambda node: (node.group, node.private_ip)))

    def _stack(self, described: StackTypeDef) -> Stack:
        outputs = described.get("Outputs", [])
        return Stack(
            name=described["StackName"],
            status=described["StackStatus"],
            failure=self._failure(described["StackName"], described["StackStatus"]),
            outputs={output["OutputKey"]: output["OutputValue"] for output in outputs},
            changed=_changed(described),
        )

    def _node(self, cluster: str, summary: ClusterNodeSummaryTypeDef) -> ClusterNode | None:
        """Ask for what the list does not tell; None for a node that is no longer there."""
        instance_id = summary["InstanceId"]
        with suppressed("ResourceNotFound"):
            node = self.clients.sagemaker.describe_cluster_node(
                ClusterName=cluster, NodeId=instance_id
            )
            return ClusterNode(
                group=summary["InstanceGroupName"],
                instance_id=instance_id,
                instance_type=summary["InstanceType"],
                status=summary["InstanceStatus"]["Status"],
                private_ip=node["NodeDetails"].get("PrivatePrimaryIp", ""),
            )
        return None

    def _failure(self, stack: str, status: str) -> str:
        """Return why a stack failed: the reason of its first failed resource in this attempt."""
        if "FAILED" not in status and "ROLLBACK" not in status:
            return ""
        return StackEvents(self.clients).first_failure(stack)


def _changed(described: StackTypeDef) -> str:
    when = described.get("LastUpdatedTime") or described.get("CreationTime")
    return when.isoformat(timespec="seconds") if when else ""


STREAMS = "LifecycleConfig/"
"""HyperPod's stream of a node is LifecycleConfig/<group>/<instance id> in the log group
/aws/sagemaker/Clusters/<name>/<id> (SageMaker HyperPod developer guide, troubleshooting)."""


def log_group_of(cluster: str, cluster_id: str) -> str:
    """Return the log group in which HyperPod and the nodes of a cluster write."""
    return f"/aws/sagemaker/Clusters/{cluster}/{cluster_id}"


@dataclass(frozen=True)
class ClusterLogs:
    """CloudWatch Logs of one account and Region."""

    clients: AwsClients

    def last_lines(
        self, cluster: str, cluster_id: str, word: str
    ) -> Mapping[str, tuple[datetime, str]]:
        """Return the last line with `word` that the scripts of each node wrote, and its time.

        They go by `<group>/<instance id>`, also of nodes that are no more. Raises AwsUnavailable.
        """
        found = {}
        with as_unavailable(f"read the logs of {cluster}"):
            pages = self.clients.logs.get_paginator("filter_log_events").paginate(
                logGroupName=log_group_of(cluster, cluster_id),
                logStreamNamePrefix=STREAMS,
                filterPattern=f'"{word}"',
            )
            events = [event for page in pages for event in page["events"]]
        for event in sorted(events, key=lambda event: event["timestamp"]):
            if event["logStreamName"].startswith(STREAMS):
                written = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
                found[event["logStreamName"].removeprefix(STREAMS)] = (written, event["message"])
        return found

    def lines(
        self, log_group: str, stream: str, since: datetime
    ) -> tuple[tuple[datetime, str], ...]:
        """Return the lines of streams that begin with `stream`, with their times, the oldest first.

        Streams that are not there have none. Raises AwsUnavailable.
        """
        prefix: Any = {"logStreamNamePrefix": stream} if stream else {}
        with as_unavailable(f"read the log group {log_group}"):
            pages = self.clients.logs.get_paginator("filter_log_events").paginate(
                logGroupName=log_group, startTime=int(since.timestamp() * 1000), **prefix
            )
            found = [
                (datetime.fromtimestamp(event["timestamp"] / 1000, UTC), event["message"])
                for page in pages
                for event in page["events"]
            ]
        return tuple(sorted(found, key=lambda line: line[0]))


@dataclass(frozen=True)
class ListedNode:
    """A node as ListClusterNodes tells it."""

    group: str
    instance_id: str
    status: str


@dataclass(frozen=True)
class SessionNodes:
    """Questions to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def cluster_id(self, cluster: str) -> str:
        """Return the id of a cluster, with which its ARN ends."""
        with as_unavailable(f"find the cluster {cluster}"):
            found = self.clients.sagemaker.describe_cluster(ClusterName=cluster)
        return found["ClusterArn"].split("/")[1]

    def bundle_uri(self, cluster: str, group: str) -> str:
        """Return where a group's lifecycle scripts are in S3; empty where it has none."""
        return self.bundle_uris(cluster).get(group, "")

    def bundle_uris(self, cluster: str) -> Mapping[str, str]:
        """Return by group where its lifecycle scripts are in S3; empty where it has none."""
        with as_unavailable(f"find the cluster {cluster}"):
            groups = self.clients.sagemaker.describe_cluster(ClusterName=cluster)["InstanceGroups"]
        return {
            each["InstanceGroupName"]: each.get("LifeCycleConfig", {}).get("SourceS3Uri", "")
            for each in groups
        }

    def running(self, cluster: str, group: str) -> tuple[str, ...]:
        """Return the instance ids of a group's running nodes, the oldest first."""
        with as_unavailable(f"list the nodes of {group}"):
            listed = self._list(cluster, InstanceGroupNameContains=group)
        found = [node for node in listed if node.group == group and node.status == "Running"]
        return tuple(node.instance_id for node in found)

    def all(self, cluster: str) -> tuple[ListedNode, ...]:
        """Return all nodes of a cluster, whatever their status, the oldest first."""
        with as_unavailable(f"list the nodes of {cluster}"):
            return self._list(cluster)

    def _list(self, cluster: str, **chosen: str) -> tuple[ListedNode, ...]:
        pages = self.clients.sagemaker.get_paginator("list_cluster_nodes").paginate(
            ClusterName=cluster,
            **chosen,  # type: ignore[arg-type]
        )
        found = [node for page in pages for node in page["ClusterNodeSummaries"]]
        return tuple(
            ListedNode(
                node["InstanceGroupName"], node["InstanceId"], node["InstanceStatus"]["Status"]
            )
            for node in sorted(found, key=lambda node: (node["LaunchTime"], node["InstanceId"]))
        )
