"""The partitions in which a job may run, and the nodes that they have."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import InstanceType
from slurmpod.environment.cluster import Role
from slurmpod.jobs.script import Script
from slurmpod.resolve.resolved import ALL_NODES_PARTITION, Resolved, ResolvedGroup
from slurmpod.value import Value

MOST_ON_ONE_SOCKET = 16
"""No instance type has fewer cores than these on two sockets."""

FEWEST_ON_TWO = 64
"""Types with accelerators that have more cores have two sockets, as was seen of ml.p5.48xlarge."""


class Node(Value):
    """A node as Slurm counts it; of a group with several instance types, any of these."""

    instance_type: str
    cpus: int
    cores: int
    sockets: int
    memory_mib: int
    gpus: int

    @property
    def threads(self) -> int:
        """Threads of a core."""
        return self.cpus // self.cores

    @property
    def cores_per_socket(self) -> int:
        """Cores of a socket."""
        return self.cores // self.sockets


def asked_partitions(script: Script, resolved: Resolved) -> tuple[str, ...]:
    """Return the partitions of a job: those that it names, or the default."""
    option = script.option("partition")
    if option:
        return tuple(option.value.split(","))
    defaults = [partition.name for partition in resolved.slurm.partitions if partition.default]
    return (*defaults, ALL_NODES_PARTITION)[:1]


def takes_no_nodes(script: Script) -> bool:
    """Return whether Slurm gives a job none: --nodes=0 alone leaves them to what else is asked."""
    without = script.option("contiguous") or script.option("spread-job")
    return script.fewest_nodes == 0 and without is not None


def kinds_of_workers(script: Script, resolved: Resolved) -> dict[str, InstanceType | None]:
    """Return what is known of the instance types that nodes of the job may have, by name."""
    names = asked_partitions(script, resolved)
    return {
        name: facts
        for group in resolved.groups_with(Role.WORKER)
        if ALL_NODES_PARTITION in names or group.partition in names
        for name, facts in zip(group.instance_types, group.facts_of_types, strict=True)
    }


def nodes_of(resolved: Resolved, name: str) -> list[tuple[int, tuple[Node, ...]]] | None:
    """Return the groups of a partition: the number of nodes, and their possible types.

    None if an instance type is unknown.
    """
    groups = _groups(resolved, name)
    if any(facts is None for group in groups for facts in group.facts_of_types):
        return None
    return [(group.count, tuple(_nodes(group))) for group in groups if group.count]


def _groups(resolved: Resolved, name: str) -> tuple[ResolvedGroup, ...]:
    groups = tuple(resolved.groups_with(Role.WORKER))
    if name == ALL_NODES_PARTITION:
        return groups + tuple(resolved.groups_with(Role.LOGIN))
    return tuple(group for group in groups if group.partition == name)


def _nodes(group: ResolvedGroup) -> Iterator[Node]:
    for facts in group.facts_of_types:
        if facts:
            gpus = facts.accelerator_count if facts.accelerator_kind == "gpu" else 0
            cpus = facts.cores * group.threads_per_core
            for sockets in _sockets(facts):
                yield Node(facts.name, cpus, facts.cores, sockets, facts.memory_mib, gpus)


def _sockets(facts: InstanceType) -> tuple[int, ...]:
    """Return on how many sockets the cores may be: EC2 does not publish it."""
    if facts.cores <= MOST_ON_ONE_SOCKET:
        return (1,)
    return (2,) if facts.accelerator_count and facts.cores > FEWEST_ON_TWO else (1, 2)
