"""The operations of the SageMaker API that HyperPod clusters with Slurm need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from slurmpod.rehearsal.cloud.constraints import summary, violations
from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.sagemaker import describe
from slurmpod.rehearsal.cloud.sagemaker.listing import Entry, list_page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.platform import Cluster
    from slurmpod.rehearsal.cloud.sagemaker.clusters import Clusters
    from slurmpod.rehearsal.cloud.wire import Operation

Shape = dict[str, Any]


class SageMakerApi:
    """The API in front of the clusters."""

    name: Final = "sagemaker"
    refusal: Final = "ValidationException"

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self.operations: Mapping[str, Operation] = {
            "AddTags": self._add_tags,
            "CreateCluster": self._create_cluster,
            "DeleteCluster": self._delete_cluster,
            "DeleteTags": self._delete_tags,
            "DescribeCluster": self._describe_cluster,
            "DescribeClusterNode": self._describe_cluster_node,
            "ListClusterNodes": self._list_cluster_nodes,
            "ListClusters": self._list_clusters,
            "ListTags": self._list_tags,
        }

    def _create_cluster(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"ClusterArn": self._clusters.create(region, given).arn}

    def _delete_cluster(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"ClusterArn": self._clusters.delete(region, given["ClusterName"]).arn}

    def _describe_cluster(self, region: str, given: Mapping[str, Any]) -> Shape:
        return describe.cluster_shape(self._clusters.find(region, given["ClusterName"]))

    def _list_clusters(self, region: str, given: Mapping[str, Any]) -> Shape:
        _check("ListClusters", given)
        entries = [
            Entry(cluster.name, cluster.created_at, describe.cluster_summary_shape(cluster))
            for cluster in self._clusters.all(region)
            if given.get("NameContains", "") in cluster.name
        ]
        page, token = list_page(entries, given)
        return {"ClusterSummaries": page, "NextToken": token}

    def _list_cluster_nodes(self, region: str, given: Mapping[str, Any]) -> Shape:
        _check("ListClusterNodes", given)
        cluster = self._clusters.find(region, given["ClusterName"])
        entries = [
            Entry(node.group, node.launched_at, describe.node_summary_shape(node))
            for node in list(cluster.nodes)
            if given.get("InstanceGroupNameContains", "") in node.group
        ]
        page, token = list_page(entries, given)
        return {"ClusterNodeSummaries": page, "NextToken": token}

    def _describe_cluster_node(self, region: str, given: Mapping[str, Any]) -> Shape:
        _check("DescribeClusterNode", given)
        cluster = self._clusters.find(region, given["ClusterName"])
        for node in list(cluster.nodes):
            if node.instance_id == given.get("NodeId"):
                return {"NodeDetails": describe.node_shape(cluster, node)}
        raise ServiceError(
            "ResourceNotFound",
            f"Instance {given.get('NodeId')} does not exist in cluster {cluster.name}",
        )

    def _add_tags(self, region: str, given: Mapping[str, Any]) -> Shape:
        cluster = self._clusters.find(region, given["ResourceArn"])
        cluster.tags |= {tag["Key"]: tag["Value"] for tag in given["Tags"]}
        return {"Tags": _tags(cluster)}

    def _delete_tags(self, region: str, given: Mapping[str, Any]) -> Shape:
        cluster = self._clusters.find(region, given["ResourceArn"])
        for key in given["TagKeys"]:
            cluster.tags.pop(key, None)
        return {}

    def _list_tags(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"Tags": _tags(self._clusters.find(region, given["ResourceArn"]))}


def _check(operation: str, given: Mapping[str, Any]) -> None:
    problems = violations("sagemaker", operation, given)
    if problems:
        raise ServiceError("ValidationException", summary(problems))


def _tags(cluster: Cluster) -> list[Shape]:
    return [{"Key": key, "Value": value} for key, value in sorted(cluster.tags.items())]
