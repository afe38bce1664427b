"""A HyperPod cluster as SageMaker tells it: its groups, its nodes in few requests, its events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable

IN_SERVICE = "Running"
"""The status of a node that SageMaker has nothing to say against."""

PAGE = 100
"""The most nodes that ListClusterNodes tells at once (API reference)."""


@dataclass(frozen=True)
class GroupState:
    """An instance group: how many nodes it shall have and has, and the images of both."""

    name: str
    instance_type: str
    wanted: int
    in_service: int
    status: str
    image: str
    wanted_image: str


@dataclass(frozen=True)
class ClusterState:
    """A cluster; `failure` is empty where it has none to tell."""

    id: str
    status: str
    failure: str
    created: datetime
    groups: tuple[GroupState, ...]


@dataclass(frozen=True)
class NodeState:
    """A node; `name` is its name in Slurm, or its instance id while it has no address.

    `message` says why SageMaker gave it its status, `updated` when its software was changed last.
    """

    group: str
    instance_id: str
    instance_type: str
    status: str
    message: str
    name: str
    launched: datetime
    updated: datetime | None


@dataclass(frozen=True)
class ClusterEvent:
    """An event of a cluster that is provisioned continuously."""

    time: datetime
    group: str
    instance_id: str
    text: str


@dataclass(frozen=True)
class ClusterView:
    """Questions to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def cluster(self, name: str) -> ClusterState:
        """Return the cluster of this name."""
        with as_unavailable(f"find the cluster {name}"):
            found = self.clients.sagemaker.describe_cluster(ClusterName=name)
        return ClusterState(
            id=found["ClusterArn"].split("/")[1],
            status=found["ClusterStatus"],
            failure=found.get("FailureMessage", ""),
            created=found["CreationTime"],
            groups=tuple(
                GroupState(
                    name=each["InstanceGroupName"],
                    instance_type=each.get("InstanceType", "several types"),
                    wanted=each.get("TargetCount", 0),
                    in_service=each.get("CurrentCount", 0),
                    status=each.get("Status", ""),
                    image=each.get("CurrentImageId", ""),
                    wanted_image=each.get("DesiredImageId", ""),
                )
                for each in found.get("InstanceGroups", [])
            ),
        )

    def nodes(self, cluster: str) -> tuple[NodeState, ...]:
        """Return all nodes of a cluster, with one request for a hundred of them."""
        with as_unavailable(f"list the nodes of {cluster}"):
            pages = self.clients.sagemaker.get_paginator("list_cluster_nodes").paginate(
                ClusterName=cluster, PaginationConfig={"PageSize": PAGE}
            )
            found = [node for page in pages for node in page["ClusterNodeSummaries"]]
        return tuple(
            NodeState(
                group=node["InstanceGroupName"],
                instance_id=node["InstanceId"],
                instance_type=node["InstanceType"],
                status=node["InstanceStatus"]["Status"],
                message=node["InstanceStatus"].get("Message", ""),
                name=node.get("PrivateDnsHostname", "").partition(".")[0] or node["InstanceId"],
                launched=node["LaunchTime"],
                updated=node.get("LastSoftwareUpdateTime"),
            )
            for node in found
        )

    def events(self, cluster: str, node: NodeState, most: int) -> tuple[ClusterEvent, ...]:
        """Return the newest events of a node, the oldest first.

        Only clusters that are provisioned continuously have any: others have none, without error.
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
