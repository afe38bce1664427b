"""Clusters and nodes in the shapes of the SageMaker API. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.platform import RUNNING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode, InstanceGroup

Shape = dict[str, Any]

_GROUP_ECHO = (
    "CapacityRequirements",
    "ExecutionRole",
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
        "TrainingPlanArns": training_plans(cluster) or None,
    }


def training_plans(cluster: Cluster) -> list[str]:
    """Return the training plans whose capacity some group of a cluster uses."""
    plans = (group.request.get("TrainingPlanArn") for group in cluster.groups)
    return sorted({plan for plan in plans if plan})


def node_shape(cluster: Cluster, node: ClusterNode) -> Shape:
    """Return a node as DescribeClusterNode does."""
    group = cluster.group(node.group)
    shape = {
        "InstanceGroupName": node.group,
        "InstanceId": node.instance_id,
        "InstanceStatus": _status(node),
        "InstanceType": node.instance_type,
        "LaunchTime": node.launched_at,
        "PrivatePrimaryIp": node.private_ip,
        "PrivateDnsHostname": node.private_dns_hostname,
        **_given(group.request, _NODE_ECHO),
        **_software(node),
    }
    if cluster.settings.is_continuous:
        shape["NodeLogicalId"] = node.logical_id
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
        **_software(node),
    }


def _software(node: ClusterNode) -> Shape:
    return {} if node.updated_at is None else {"LastSoftwareUpdateTime": node.updated_at}


def _group_shape(cluster: Cluster, group: InstanceGroup) -> Shape:
    members = cluster.members(group.name)
    running = [node for node in members if node.status == RUNNING]
    image = group.request.get("ImageId")
    return {
        "InstanceGroupName": group.name,
        "CurrentCount": len(running),
        "TargetCount": group.instance_count,
        "MinCount": group.request.get("MinInstanceCount"),
        "Status": _group_status(cluster, group, [node.status for node in members]),
        "CurrentImageId": image,
        "DesiredImageId": image,
        "SoftwareUpdateStatus": cluster.software_updates.get(group.name),
        **_instance_types(group, running),
        **_auto_patching(group.request),
        **_given(group.request, _GROUP_ECHO),
    }


def _group_status(cluster: Cluster, group: InstanceGroup, nodes: Sequence[str]) -> str:
    """Return a group's own status from the cluster's and those of its nodes.

    In a cluster in service it is degraded while instances have failed, and being created while its
    smallest number of nodes is awaited. Source: API reference, ClusterInstanceGroupDetails.
    """
    if cluster.status == "RollingBack":  # the API has no such status of groups
        return "SystemUpdating"
    if cluster.status != "InService":
        return cluster.status
    if "Failure" in nodes:
        return "Degraded"
    return "Creating" if nodes.count(RUNNING) < group.min_instance_count else "InService"


def _instance_types(group: InstanceGroup, running: list[ClusterNode]) -> Shape:
    """Return what only a group of several possible instance types has."""
    if "InstanceRequirements" not in group.request:
        return {}
    counts = Counter(node.instance_type for node in running)
    return {
        "InstanceRequirements": {
            "CurrentInstanceTypes": sorted(counts) or None,
            "DesiredInstanceTypes": group.request["InstanceRequirements"]["InstanceTypes"],
        },
        "InstanceTypeDetails": [
            {
                "InstanceType": instance_type,
                "CurrentCount": count,
                "ThreadsPerCore": group.threads_per_core,
            }
            for instance_type, count in sorted(counts.items())
        ],
    }


def _auto_patching(request: Mapping[str, Any]) -> Shape:
    """Return how a group is patched; its schedule is described by another name."""
    if "AutoPatchConfig" not in request:
        return {}
    config = dict(request["AutoPatchConfig"])
    schedule = config.pop("PatchSchedule", None)
    if schedule:
        config |= {"CurrentPatchSchedule": schedule, "DesiredPatchSchedule": schedule}
    return {"AutoPatchConfig": config}


def _status(node: ClusterNode) -> Shape:
    return {"Status": node.status, "Message": node.message or None}


def _given(request: Mapping[str, Any], names: tuple[str, ...]) -> Shape:
    return {name: request[name] for name in names if name in request}
