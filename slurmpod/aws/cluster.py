"""A HyperPod cluster as SageMaker describes it: its groups, nodes and events.

Nothing else lists nodes, so every command calls a node by the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable, suppressed

if TYPE_CHECKING:
    from types_boto3_sagemaker.type_defs import ClusterNodeSummaryTypeDef

IN_SERVICE = "Running"
"""The status of a healthy node."""

CHECKING = "DeepHealthCheckInProgress"
"""The status of a node whose hardware HyperPod is testing; it takes no jobs meanwhile."""

WITHOUT_ADDRESS = frozenset({"Pending", "NotFound"})
"""Statuses of nodes that do not have an address yet, or have lost it."""

PAGE = 100
"""The most nodes in one response of ListClusterNodes (API reference)."""


@dataclass(frozen=True)
class GroupState:
    """An instance group: its target and current size, and its target and current image.

    `bundle_uri` is the S3 location of its lifecycle scripts; empty if it has none.
    """

    name: str
    instance_type: str
    wanted: int
    in_service: int
    status: str
    image: str
    wanted_image: str
    bundle_uri: str = ""
    has_ended_plan: bool = False
    """Whether its training plan has ended."""

    patch_strategy: str | None = None
    """Its schedule for HyperPod's automatic patches; None without one."""

    next_patch: datetime | None = None


@dataclass(frozen=True)
class ClusterState:
    """A cluster; `failure` is empty unless creation or an update failed."""

    id: str
    status: str
    failure: str
    created: datetime
    groups: tuple[GroupState, ...]


@dataclass(frozen=True)
class Node:
    """A node; `name` is its host name and Slurm name, or its id before it has an address.

    `message` is the reason for its status, `updated` the time of its last software update.
    """

    group: str
    instance_id: str
    instance_type: str
    status: str
    name: str
    launched: datetime
    message: str = ""
    updated: datetime | None = None

    @property
    def private_ip(self) -> str:
        """The address, derived from the name; empty if the node has none."""
        return self.name[3:].replace("-", ".") if self.name.startswith("ip-") else ""


@dataclass(frozen=True)
class ClusterEvent:
    """An event of a cluster with continuous provisioning."""

    time: datetime
    group: str
    instance_id: str
    text: str


@dataclass(frozen=True)
class ClusterView:
    """Queries to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def cluster(self, name: str) -> ClusterState:
        """Return the cluster with this name."""
        with as_unavailable(f"find the cluster {name}"):
            found = self.clients.sagemaker.describe_cluster(ClusterName=name)
        return ClusterState(
            id=found["ClusterArn"].split("/")[1],
            status=found["ClusterStatus"],
            failure=found.get("FailureMessage", ""),
            created=found["CreationTime"],
            groups=tuple(_group(each) for each in found.get("InstanceGroups", [])),
        )

    def cluster_id(self, cluster: str) -> str:
        """Return the id of a cluster, the last part of its ARN."""
        return self.cluster(cluster).id

    def bundle_uri(self, cluster: str, group: str) -> str:
        """Return the S3 location of a group's lifecycle scripts; empty if it has none."""
        return self.bundle_uris(cluster).get(group, "")

    def bundle_uris(self, cluster: str) -> Mapping[str, str]:
        """Return the S3 location of lifecycle scripts by group; empty for a group without any."""
        return {group.name: group.bundle_uri for group in self.cluster(cluster).groups}

    def running(self, cluster: str, group: str) -> tuple[str, ...]:
        """Return the instance ids of a group's running nodes, oldest first."""
        found = [
            node
            for node in self.nodes(cluster, InstanceGroupNameContains=group)
            if node.group == group and node.status == IN_SERVICE
        ]
        found.sort(key=lambda node: (node.launched, node.instance_id))
        return tuple(node.instance_id for node in found)

    def nodes(self, cluster: str, **chosen: str) -> tuple[Node, ...]:
        """Return the nodes of a cluster, by group and then by name.

        Takes one request per hundred nodes. `chosen` are filters of ListClusterNodes.
        """
        with as_unavailable(f"list the nodes of {cluster}"):
            pages = self.clients.sagemaker.get_paginator("list_cluster_nodes").paginate(
                ClusterName=cluster,
                PaginationConfig={"PageSize": PAGE},
                **chosen,  # type: ignore[arg-type]
            )
            found = [
                self._node(cluster, summary)
                for page in pages
                for summary in page["ClusterNodeSummaries"]
            ]
        return tuple(sorted(found, key=lambda node: (node.group, node.name)))

    def events(self, cluster: str, node: Node, most: int) -> tuple[ClusterEvent, ...]:
        """Return the newest events of a node, oldest first.

        Clusters without continuous provisioning have no events; that is no error.
        """
        try:
            with as_unavailable(f"list the events of {cluster}"):
                found = self.clients.sagemaker.list_cluster_events(
                    ClusterName=cluster, NodeId=node.instance_id, MaxResults=most
                )
        except AwsUnavailable as refusal:
            if "Continuous" in str(refusal):
                return ()
            raise
        return tuple(
            ClusterEvent(
                each["EventTime"],
                each.get("InstanceGroupName", ""),
                each.get("InstanceId", ""),
                each.get("Description", ""),
            )
            for each in reversed(found.get("Events", []))
        )

    def _node(self, cluster: str, summary: ClusterNodeSummaryTypeDef) -> Node:
        status = summary["InstanceStatus"]
        return Node(
            group=summary["InstanceGroupName"],
            instance_id=summary["InstanceId"],
            instance_type=summary.get("InstanceType", ""),
            status=status["Status"],
            name=self._name(cluster, summary),
            launched=summary["LaunchTime"],
            message=status.get("Message", ""),
            updated=summary.get("LastSoftwareUpdateTime"),
        )

    def _name(self, cluster: str, summary: ClusterNodeSummaryTypeDef) -> str:
        """Return a node's name, from its address if the list does not have the name."""
        instance_id = summary["InstanceId"]
        if listed := summary.get("PrivateDnsHostname", ""):
            return listed.partition(".")[0]
        if summary["InstanceStatus"]["Status"] in WITHOUT_ADDRESS:
            return instance_id
        with suppressed("ResourceNotFound"):
            node = self.clients.sagemaker.describe_cluster_node(
                ClusterName=cluster, NodeId=instance_id
            )
            address = node["NodeDetails"].get("PrivatePrimaryIp", "")
            return f"ip-{address.replace('.', '-')}" if address else instance_id
        return instance_id


def _group(described: Mapping[str, Any]) -> GroupState:
    patches: Mapping[str, Any] | None = described.get("AutoPatchConfig")
    return GroupState(
        name=described["InstanceGroupName"],
        instance_type=described.get("InstanceType", "several types"),
        wanted=described.get("TargetCount", 0),
        in_service=described.get("CurrentCount", 0),
        status=described.get("Status", ""),
        image=described.get("CurrentImageId", ""),
        wanted_image=described.get("DesiredImageId", ""),
        bundle_uri=described.get("LifeCycleConfig", {}).get("SourceS3Uri", ""),
        has_ended_plan=described.get("TrainingPlanStatus") == "Expired",
        patch_strategy=patches.get("PatchingStrategy", "") if patches else None,
        next_patch=(patches or {}).get("CurrentPatchSchedule", {}).get("NextPatchDate"),
    )
