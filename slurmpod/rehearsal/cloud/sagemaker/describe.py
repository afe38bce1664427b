"""Clusters and nodes in the shapes of the SageMaker API. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode, InstanceGroup

Shape = dict[str, Any]

_GROUP_ECHO = (
    "CapacityRequirements",
    "ExecutionRole",
    "InstanceRequirements",
    "InstanceStorageConfigs",
    "InstanceType",
    "LifeCycleConfig",
    "NetworkInterface",
    "OnStartDeepHealthChecks",
    "OverrideVpcConfig",
    "ScheduledUpdateConfig",
    "SlurmConfig",
    "ThreadsPerCore",
    "TrainingPlanArn",
)
"""What DescribeCluster says about a group exactly as CreateCluster was told."""
_NODE_ECHO = (
    "InstanceStorageConfigs",
    "LifeCycleConfig",
    "NetworkInterface",
    "OverrideVpcConfig",
    "ThreadsPerCore",
)


def cluster_shape(cluster: Cluster) -> Shape:
    """Return a cluster as DescribeCluster does."""
    return {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ClusterStatus": cluster.status,
        "CreationTime": cluster.created_at,
        "FailureMessage": cluster.failure_message or None,
        "InstanceGroups": [_group_shape(cluster, group) for group in cluster.groups],
        **_given(
            cluster.request, ("NodeProvisioningMode", "NodeRecovery", "Orchestrator", "VpcConfig")
        ),
    }


def cluster_summary_shape(cluster: Cluster) -> Shape:
    """Return a cluster as ListClusters does."""
    return {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "CreationTime": cluster.created_at,
        "ClusterStatus": cluster.status,
    }


def node_shape(cluster: Cluster, node: ClusterNode) -> Shape:
    """Return a node as DescribeClusterNode does."""
    group = next(group for group in cluster.groups if group.name == node.group)
    shape = {
        "InstanceGroupName": node.group,
        "InstanceId": node.instance_id,
        "InstanceStatus": _status(node),
        "InstanceType": node.instance_type,
        "LaunchTime": node.launched_at,
        "PrivatePrimaryIp": node.private_ip,
        "PrivateDnsHostname": node.private_dns_hostname,
        **_given(group.request, _NODE_ECHO),
    }
    if node.interface is not None:
        shape["Placement"] = {
            "AvailabilityZone": node.interface.availability_zone,
            "AvailabilityZoneId": node.interface.availability_zone_id,
        }
    return shape


def node_summary_shape(node: ClusterNode) -> Shape:
    """Return a node as ListClusterNodes does."""
    return {
        "InstanceGroupName": node.group,
        "InstanceId": node.instance_id,
        "InstanceType": node.instance_type,
        "LaunchTime": node.launched_at,
        "InstanceStatus": _status(node),
        "PrivateDnsHostname": node.private_dns_hostname,
    }


def _group_shape(cluster: Cluster, group: InstanceGroup) -> Shape:
    running = [n for n in cluster.nodes if n.group == group.name and n.status == "Running"]
    return {
        "InstanceGroupName": group.name,
        "CurrentCount": len(running),
        "TargetCount": group.instance_count,
        "MinCount": group.request.get("MinInstanceCount"),
        "Status": cluster.status,
        **_given(group.request, _GROUP_ECHO),
    }


def _status(node: ClusterNode) -> Shape:
    return {"Status": node.status, "Message": node.message or None}


def _given(request: Mapping[str, Any], names: tuple[str, ...]) -> Shape:
    return {name: request[name] for name in names if name in request}
