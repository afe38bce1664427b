"""Another number of workers, as somebody asks for it during a fault."""

from __future__ import annotations

from typing import Any

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.watch import Watch

SCALING_SECONDS = 300.0
"""How long it may take."""

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
"""What DescribeCluster and UpdateCluster call by the same name."""


def scale(cluster: FaultCluster, watch: Watch, count: int) -> None:
    """Ask for so many nodes in the group of the first worker, by UpdateCluster.

    HyperPod refuses it while the cluster is being updated.
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
    """Return the group of all workers, and how many nodes it is to have."""
    group = cluster.group_of(cluster.workers[0])
    return group["InstanceGroupName"], group["TargetCount"]
