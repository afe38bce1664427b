"""Sixteen nodes join a cluster in service at the same time, and leave it again."""

from __future__ import annotations

from typing import Any

from slurmpod.operations.lifecycle import MARK
from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch

MORE = 16
PATIENCE_SECONDS = 300.0

_SAME = (
    "InstanceGroupName",
    "InstanceType",
    "ExecutionRole",
    "LifeCycleConfig",
    "ThreadsPerCore",
    "InstanceStorageConfigs",
    "OnStartDeepHealthChecks",
    "OverrideVpcConfig",
    "SlurmConfig",
)
"""What DescribeCluster and UpdateCluster call by the same name."""


def _act(cluster: FaultCluster, watch: Watch) -> None:
    job = SteadyJob.start(cluster, watch)
    count = len(cluster.workers)
    before = set(cluster.instances().values())
    _scale(cluster, MORE)
    try:
        watch.injected(f"{MORE} nodes join {count}")
        watch.until(
            "all are idle or busy", lambda: _ready(cluster), count + MORE, seconds=PATIENCE_SECONDS
        )
        joined = set(cluster.instances().values()) - before
        watch.until("their scripts report", lambda: _reporting(cluster, joined), joined)
        watch.recovered(f"all {MORE} take jobs")
        cluster.user.run(
            ["srun", f"--partition={cluster.partition}", f"--nodes={count + MORE}", "hostname"]
        )
        job.wait_until_it_writes()
    finally:
        _scale(cluster, -MORE)
    watch.until("they are gone", lambda: _ready(cluster), count, seconds=PATIENCE_SECONDS)
    watch.recovered("they left again, the job was not disturbed")
    job.finish()


def _scale(cluster: FaultCluster, more: int) -> None:
    """Ask for more or fewer nodes in the group of the first worker, by UpdateCluster."""
    sagemaker: Any = cluster.aws.sagemaker
    growing = cluster.group_of(cluster.workers[0])["InstanceGroupName"]
    described = sagemaker.describe_cluster(ClusterName=cluster.name)["InstanceGroups"]
    groups = [
        {
            **{key: each[key] for key in _SAME if key in each},
            "InstanceCount": each["TargetCount"]
            + (more if each["InstanceGroupName"] == growing else 0),
        }
        for each in described
    ]
    sagemaker.update_cluster(ClusterName=cluster.name, InstanceGroups=groups)


def _ready(cluster: FaultCluster) -> int:
    """Count the nodes of the partition that take jobs, if no node is in another state."""
    command = ["sinfo", "--noheader", "--Node", f"--partition={cluster.partition}", "--format=%T"]
    states = cluster.user.run(command).split()
    return len(states) if set(states) <= {"idle", "mixed", "allocated"} else 0


def _reporting(cluster: FaultCluster, instances: set[str]) -> set[str]:
    """Return those of some instances in whose streams `slurmpod lifecycle report` finds theirs."""
    return {each for each in instances if f"\n{MARK} {{" in cluster.printed_by(each)}


FAULT = Fault(
    name="many-joining",
    title="Sixteen nodes join together",
    sees="`sinfo` shows each new node as soon as it is ready; jobs that run notice nothing.",
    logged="Every node's stream in CloudWatch Logs; `slurmpod lifecycle report` shows which step"
    " took how long where.",
    recovers="Nodes that meet a busy file system or controller try again, each at another moment.",
    act=_act,
)
