"""The operations of the SageMaker API: HyperPod clusters with Slurm, and other services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from embedded_aws.clients import Clients
from embedded_aws.cluster import ClusterNode
from embedded_aws.errors import ServiceError, summary, violations
from embedded_aws.interface import ClusterPlatform
from embedded_aws.sagemaker import describe
from embedded_aws.sagemaker.attachments import Attachments
from embedded_aws.sagemaker.clusters import Clusters
from embedded_aws.sagemaker.describe import Entry, describe_event, list_events, list_page
from embedded_aws.sagemaker.extensions import Extensions
from embedded_aws.sagemaker.health_checks import HealthChecks
from embedded_aws.sagemaker.hosting import Hosting
from embedded_aws.sagemaker.node_operations import NodeAddition, NodeOperations
from embedded_aws.sagemaker.notebooks import Notebooks
from embedded_aws.sagemaker.operations import describe_operation, list_operations
from embedded_aws.sagemaker.training_plan_api import TrainingPlanApi
from embedded_aws.wire import Operation

Shape = dict[str, Any]

_RESERVED = "aws:"
"""Prefix of tag keys reserved for AWS, in any letter case (Tagging AWS Resources user guide, "Tag
naming limits and requirements")."""


class SageMakerApi:
    """The API in front of the clusters."""

    name: Final = "sagemaker"
    refusal: Final = "ValidationException"

    def __init__(
        self, clusters: Clusters, platform: ClusterPlatform, clients: Callable[[str], Clients]
    ) -> None:
        self._clusters = clusters
        nodes = NodeOperations(clusters, platform)
        attachments = Attachments(clusters, clients)
        hosting = Hosting(clients)
        notebooks = Notebooks(clients)
        self._records = (*hosting.kinds, *notebooks.kinds)
        operations: Mapping[str, Operation] = {
            **_extensions(clusters),
            **_training_plans(clusters, clients),
            **hosting.operations,
            **notebooks.operations,
            "AddTags": self._add_tags,
            "AttachClusterNodeNetworkInterface": attachments.attach_interface,
            "AttachClusterNodeVolume": attachments.refuse_volume,
            "BatchAddClusterNodes": NodeAddition(clusters).add,
            "BatchDeleteClusterNodes": nodes.delete,
            "BatchRebootClusterNodes": nodes.reboot,
            "BatchReplaceClusterNodes": nodes.replace,
            "CreateCluster": self._create_cluster,
            "DeleteCluster": self._delete_cluster,
            "DeleteTags": self._delete_tags,
            "DescribeCluster": self._describe_cluster,
            "DescribeClusterEvent": self._describe_cluster_event,
            "DescribeClusterNode": self._describe_cluster_node,
            "DescribeClusterOperation": self._describe_cluster_operation,
            "DetachClusterNodeVolume": attachments.refuse_volume,
            "ListClusterEvents": self._list_cluster_events,
            "ListClusterNodes": self._list_cluster_nodes,
            "ListClusterOperations": self._list_cluster_operations,
            "ListClusters": self._list_clusters,
            "ListTags": self._list_tags,
            "StartClusterHealthCheck": HealthChecks(clusters, platform).start,
            "UpdateCluster": self._update_cluster,
            "UpdateClusterSoftware": self._update_cluster_software,
        }
        self.operations: Mapping[str, Operation] = {
            name: _checked(name, operation) for name, operation in operations.items()
        }

    def _create_cluster(self, region: str, given: Mapping[str, Any]) -> Shape:
        _check_keys(given.get("Tags", ()))
        return {"ClusterArn": self._clusters.create(region, given).arn}

    def _update_cluster(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"ClusterArn": self._clusters.update(region, given).arn}

    def _update_cluster_software(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"ClusterArn": self._clusters.update_software(region, given).arn}

    def _delete_cluster(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"ClusterArn": self._clusters.delete(region, given["ClusterName"]).arn}

    def _describe_cluster(self, region: str, given: Mapping[str, Any]) -> Shape:
        shape = describe.cluster_shape(self._clusters.find(region, given["ClusterName"]))
        for group in shape["InstanceGroups"]:
            if "TrainingPlanArn" in group:
                plan = self._clusters.plans.find(region, group["TrainingPlanArn"])
                group["TrainingPlanStatus"] = plan.status
        return shape

    def _list_clusters(self, region: str, given: Mapping[str, Any]) -> Shape:
        entries = [
            Entry(cluster.name, cluster.created_at, describe.cluster_summary_shape(cluster))
            for cluster in self._clusters.all(region)
            if given.get("NameContains", "") in cluster.name
            and given.get("TrainingPlanArn") in (None, *describe.training_plans(cluster))
        ]
        page, token = list_page(entries, given)
        return {"ClusterSummaries": page, "NextToken": token}

    def _list_cluster_nodes(self, region: str, given: Mapping[str, Any]) -> Shape:
        cluster = self._clusters.find(region, given["ClusterName"])
        entries = [
            Entry(node.group, node.launched_at, _node_summary(node, given))
            for node in list(cluster.nodes)
            if given.get("InstanceGroupNameContains", "") in node.group
        ]
        page, token = list_page(entries, given)
        return {"ClusterNodeSummaries": page, "NextToken": token}

    def _describe_cluster_node(self, region: str, given: Mapping[str, Any]) -> Shape:
        cluster = self._clusters.find(region, given["ClusterName"])
        asked = given.get("NodeId"), given.get("NodeLogicalId")
        if asked.count(None) != 1:
            raise ServiceError("ValidationException", "Specify one of NodeId and NodeLogicalId")
        for node in list(cluster.nodes):
            if node.instance_id == asked[0] or node.logical_id == asked[1]:
                return {"NodeDetails": describe.node_shape(cluster, node)}
        raise ServiceError(
            "ResourceNotFound",
            f"Instance {asked[0] or asked[1]} does not exist in cluster {cluster.name}",
        )

    def _list_cluster_events(self, region: str, given: Mapping[str, Any]) -> Shape:
        return list_events(self._clusters.find(region, given["ClusterName"]), given)

    def _describe_cluster_event(self, region: str, given: Mapping[str, Any]) -> Shape:
        cluster = self._clusters.find(region, given["ClusterName"])
        return describe_event(cluster, given["EventId"])

    def _list_cluster_operations(self, region: str, given: Mapping[str, Any]) -> Shape:
        return list_operations(self._clusters.find(region, given["ClusterName"]), given)

    def _describe_cluster_operation(self, region: str, given: Mapping[str, Any]) -> Shape:
        cluster = self._clusters.find(region, given["ClusterName"])
        return describe_operation(cluster, given["OperationId"])

    def _add_tags(self, region: str, given: Mapping[str, Any]) -> Shape:
        _check_keys(given["Tags"])
        tags = self._tags_of(region, given["ResourceArn"])
        tags |= {tag["Key"]: tag["Value"] for tag in given["Tags"]}
        return {"Tags": _pairs(tags)}

    def _delete_tags(self, region: str, given: Mapping[str, Any]) -> Shape:
        tags = self._tags_of(region, given["ResourceArn"])
        for key in given["TagKeys"]:
            tags.pop(key, None)
        return {}

    def _list_tags(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"Tags": _pairs(self._tags_of(region, given["ResourceArn"]))}

    def _tags_of(self, region: str, arn: str) -> dict[str, str]:
        for records in self._records:
            if record := records.of_arn(arn):
                return record.tags
        return self._clusters.find(region, arn).tags


def _extensions(clusters: Clusters) -> Mapping[str, Operation]:
    extensions = Extensions(clusters)
    return {
        "CreateClusterExtension": extensions.create,
        "DeleteClusterExtension": extensions.delete,
        "DescribeClusterExtension": extensions.describe,
        "ListClusterExtensionVersions": extensions.versions,
        "ListClusterExtensions": extensions.summaries,
        "UpdateClusterExtension": extensions.update,
    }


def _training_plans(
    clusters: Clusters, clients: Callable[[str], Clients]
) -> Mapping[str, Operation]:
    plans = TrainingPlanApi(clusters.plans, clients, clusters.used_of_plans)
    return {
        "CreateTrainingPlan": plans.create,
        "DescribeReservedCapacity": plans.describe_capacity,
        "DescribeTrainingPlan": plans.describe,
        "DescribeTrainingPlanExtensionHistory": plans.history,
        "ExtendTrainingPlan": plans.extend,
        "ListTrainingPlans": plans.summaries,
        "SearchTrainingPlanOfferings": plans.search,
    }


def _checked(name: str, operation: Operation) -> Operation:
    """Wrap an operation so that its input is first checked against the model, as on AWS.

    A request with an invalid cluster name is a validation error, not a missing cluster.
    """

    def checked(region: str, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
        problems = violations("sagemaker", name, given)
        if problems:
            raise ServiceError("ValidationException", summary(problems))
        return operation(region, given)

    return checked


def _check_keys(tags: Iterable[Mapping[str, str]]) -> None:
    if any(tag["Key"].lower().startswith(_RESERVED) for tag in tags):
        raise ServiceError(
            "ValidationException",
            f"{_RESERVED} prefixed tag key names are not allowed for external use.",
        )


def _node_summary(node: ClusterNode, given: Mapping[str, Any]) -> Shape:
    shape = describe.node_summary_shape(node)
    if given.get("IncludeNodeLogicalIds"):
        shape["NodeLogicalId"] = node.logical_id
    return shape


def _pairs(tags: Mapping[str, str]) -> list[Shape]:
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
