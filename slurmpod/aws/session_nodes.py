"""The nodes of a cluster, as Session Manager names them. Asks for no more than users may."""

from __future__ import annotations

from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable


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
        with as_unavailable(f"find the cluster {cluster}"):
            groups = self.clients.sagemaker.describe_cluster(ClusterName=cluster)["InstanceGroups"]
        configs = (each for each in groups if each["InstanceGroupName"] == group)
        found = (each.get("LifeCycleConfig", {}).get("SourceS3Uri", "") for each in configs)
        return next(found, "")

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
