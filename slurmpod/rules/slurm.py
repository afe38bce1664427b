"""Rules for what Slurm makes of the instance groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.resolve.resolved import ALL_NODES_PARTITION
from slurmpod.rules.groups import at
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

SLURM = Area("SLU", "Slurm")

SLURM_CONFIGURATION = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ClusterSlurmConfig.html"
)

TAKEN_PARTITIONS = {
    ALL_NODES_PARTITION: "HyperPod puts every node in it",
    "hyperpod-system-maintenance": "HyperPod checks nodes in it",
    "default": "slurm.conf sets the defaults of all partitions with it",
}
"""Names in lower case, and who has them (hyperpod-slurm guide; slurm.conf(5), PartitionName)."""


@SLURM.rule(
    "SLU-001",
    "Every worker group has a partition",
    why="Jobs reach the nodes of a group through its partition; HyperPod refuses a worker group "
    "without one.",
    fix="add a partition, such as 'partition: cpu'",
    source=SLURM_CONFIGURATION,
)
def _workers_have_a_partition(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.role is Role.WORKER and not group.partition:
            path = at(index, "partition")
            yield Finding(path, f"the worker group '{group.name}' has no partition")


@SLURM.rule(
    "SLU-002",
    "Only worker groups have a partition",
    why="HyperPod refuses partitions on the controller and on login nodes: jobs do not run there.",
    fix="remove the partition",
    source=SLURM_CONFIGURATION,
)
def _others_have_none(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.role is not Role.WORKER and group.partition:
            path = at(index, "partition")
            yield Finding(path, f"a {group.role} group cannot be in a partition", at_key=True)


@SLURM.rule(
    "SLU-003",
    "No partition has a name that is taken",
    why="HyperPod adds partitions of its own to slurm.conf, and Slurm gives one name a meaning.",
    fix="choose another name, for example that of the instance type: p5, trn1, cpu",
    source="https://slurm.schedmd.com/slurm.conf.html",
)
def _partition_is_free(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        reason = TAKEN_PARTITIONS.get((group.partition or "").lower())
        if reason and group.role is Role.WORKER:
            path = at(index, "partition")
            yield Finding(path, f"the partition '{group.partition}' is taken: {reason}")
