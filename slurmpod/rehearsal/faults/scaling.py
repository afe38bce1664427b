"""Changes of the number of workers during a fault."""

from __future__ import annotations

from typing import Any

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.watch import Watch

SCALING_SECONDS = 300.0
"""The time limit for an update."""

_SAME = (
    "InstanceGroupName",
    "InstanceType",
    "CapacityRequirements",
    "ExecutionRole",
    "LifeCycleConfig",
    "ThreadsPerCore",
    "InstanceStorageConfigs",
    "OnStartDeepHealthChecks",
    "OverrideVpcConfig",
    "SlurmConfig",
    "TrainingPlanArn",
)
"""Fields with the same name in DescribeCluster and UpdateCluster."""


def scale(cluster: FaultCluster, watch: Watch, count: int) -> None:
    """Set the number of nodes in the first worker's group, by UpdateCluster.

    HyperPod rejects it while the cluster is being updated.
    """
    watch.until("an update may begin", cluster.status, "InService", seconds=SCALING_SECONDS)
    sagemaker: Any = cluster.aws.sagemaker
    growing = cluster.group_of(cluster.workers[0])["InstanceGroupName"]
    described = sagemaker.describe_cluster(ClusterName=cluster.name)["InstanceGroups"]
    groups = [
        {
            **{key: each[key] for key in _SAME if key in each},
            "InstanceCount": count if each["InstanceGroupName"] == growing else each["TargetCount"],
        }
        for each in described
    ]
    sagemaker.update_cluster(ClusterName=cluster.name, InstanceGroups=groups)


def group_and_count(cluster: FaultCluster) -> tuple[str, int]:
    """Return the group of all workers, and its requested number of nodes."""
    group = cluster.group_of(cluster.workers[0])
    return group["InstanceGroupName"], group["TargetCount"]
