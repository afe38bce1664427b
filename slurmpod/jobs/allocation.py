"""The nodes that a job gets: of a group or a partition of a cluster, all of them alike."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.environment.cluster import Role
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.resolve import Resolved
from slurmpod.resolve.resolved import ALL_NODES_PARTITION
from slurmpod.value import Value

NEURON_CORES = {"Trainium": 2, "Trainium2": 4}
"""Logical NeuronCores of a chip, each of which takes one process. Source: AWS Neuron, "Developer
Guide for Training with PyTorch NeuronX": two on Trn1, four by default on Trn2."""


class JobRefused(Exception):
    """A job that cannot be rendered for this cluster, and what to do about it."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class Allocation(Value):
    """A partition whose nodes are all alike. `time` is the longest that it allows."""

    partition: str
    nodes: int
    time: str
    facts: InstanceType

    @property
    def processes(self) -> int:
        """Processes of a node: one for each GPU or NeuronCore, and one where there are none."""
        count = self.facts.accelerator_count or 1
        if self.facts.accelerator_kind == "neuron":
            return count * NEURON_CORES[self.facts.accelerator]
        return count

    @property
    def threads(self) -> int:
        """Threads for each process, such that none has to share its core."""
        return max(1, self.facts.cores // self.processes)


def allocation_for(
    resolved: Resolved, *, group: str | None, partition: str | None, nodes: int | None
) -> Allocation:
    """Choose the nodes: of a group or a partition, or of the only one.

    Without `nodes`, all that one job can have. Raises JobRefused.
    """
    name = _partition(resolved, group, partition)
    most = most_nodes(resolved, name)
    wanted = most if nodes is None else nodes
    if not 1 <= wanted <= most:
        raise JobRefused(
            f"a job of {wanted} nodes cannot run: partition {name} gives one job {most or 'none'}",
            f"ask for 1 to {most} nodes" if most else "give the group a higher count",
        )
    limits = {each.name: each.max_time for each in resolved.slurm.partitions}
    return Allocation(name, wanted, limits.get(name) or "UNLIMITED", _facts(resolved, name))


def most_nodes(resolved: Resolved, name: str) -> int:
    """Return the most nodes that one job can have in a partition; 0 for an unknown one."""
    groups = resolved.groups_with(Role.WORKER)
    if name == ALL_NODES_PARTITION:
        groups += resolved.groups_with(Role.LOGIN)
    counts = [group.count for group in groups if name in (group.partition, ALL_NODES_PARTITION)]
    limits = [
        each.max_nodes for each in resolved.slurm.partitions if each.name == name and each.max_nodes
    ]
    return min(sum(counts), *limits) if limits else sum(counts)


def _partition(resolved: Resolved, group: str | None, partition: str | None) -> str:
    workers = resolved.groups_with(Role.WORKER)
    names = sorted({each.partition for each in workers if each.partition})
    if partition:
        return _known("partition", partition, names)
    if group:
        by_group = {each.name: each.partition or "" for each in workers}
        return by_group[_known("worker group", group, sorted(by_group))]
    if len(names) == 1:
        return names[0]
    raise JobRefused(
        f"{resolved.name} has several partitions: {', '.join(names)}"
        if names
        else f"{resolved.name} has no workers",
        "choose one with --partition" if names else "add a worker group to the cluster",
    )


def _known(kind: str, name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    raise JobRefused(
        f"there is no {kind} '{name}' (there are: {', '.join(names)})",
        did_you_mean(name, names) or f"name one of them with --{kind.rpartition(' ')[2]}",
    )


def _facts(resolved: Resolved, partition: str) -> InstanceType:
    """Return the minimum facts of a partition's nodes; their accelerators must be the same."""
    groups = [each for each in resolved.groups_with(Role.WORKER) if each.partition == partition]
    types = sorted({name for group in groups for name in group.instance_types})
    unknown = [name for name in types if name not in instance_types()]
    if unknown:
        raise JobRefused(
            f"nothing is known about {', '.join(unknown)}", "choose a partition of other nodes"
        )
    facts = [instance_types()[name] for name in types]
    if len({_abilities(each) for each in facts}) > 1:
        raise JobRefused(
            f"partition {partition} has nodes of several kinds: {', '.join(types)}",
            "give types with the same accelerators a separate partition",
        )
    return min(facts, key=lambda each: each.cores)


def _abilities(facts: InstanceType) -> tuple[object, ...]:
    """Return the facts that must be the same on all nodes of a job."""
    return (facts.accelerator, facts.accelerator_count, facts.efa_interfaces > 0)
