"""Resources that a partition's nodes lack for a job, with the message of sbatch; "" for none."""

from __future__ import annotations

from collections.abc import Callable

from slurmpod.jobs.demand import Demand
from slurmpod.jobs.partitions import Node
from slurmpod.jobs.room import (
    can_be_taken,
    cpus_for,
    has_cpus,
    has_hardware,
    threads_of_cores,
)

MORE_THAN_ALL = "More processors requested than permitted"
NOT_AVAILABLE = "Requested node configuration is not available"

Groups = list[tuple[int, tuple[Node, ...]]]
"""The groups of a partition: the number of nodes, and their possible types."""


def lacks_cpus(demand: Demand, groups: Groups, most: int) -> str:
    """Return the lack if too few nodes have the CPUs for the job's tasks."""
    nodes = all_nodes(groups)
    if not any(has_hardware(demand, node) for node in nodes):
        lacking = "has not the sockets, cores and threads that are asked for"
        return f'{types_of(nodes)} {lacking} ("{NOT_AVAILABLE}")'
    largest = max(_cpus(demand, node) for node in nodes)
    if demand.cpus_needed > largest:
        tasks = 1 if demand.tasks else demand.tasks_per_node or 1
        product = f"{tasks} tasks x {demand.cpus_per_task} CPUs = " if tasks > 1 else ""
        asked = f"{product}{demand.cpus_needed} CPUs are asked for on a node"
        return f"{asked}; {types_of(nodes)} has {largest} ({_said_of_cpus(demand, groups, most)})"
    if demand.tasks_per_gpu > largest and (demand.tasks or 0) > 1 and not demand.overcommits:
        asked = f"{demand.tasks_per_gpu} tasks are asked for on each GPU"
        return f'{asked}; {types_of(nodes)} has {largest} CPUs ("{NOT_AVAILABLE}")'
    if not any(has_cpus(demand, node) for node in nodes):
        asked = f"{demand.tasks_per_node or 1} tasks are asked for on a node"
        return (
            f"{asked}, and fewer have room on its sockets ({_said_of_cpus(demand, groups, most)})"
        )
    room = _room(groups, _nodes_of_job(demand, most), lambda node: _tasks(demand, node))
    if demand.tasks and demand.tasks > room and not demand.overcommits:
        asked = f"{demand.tasks} tasks with {demand.cpus_per_task} CPUs each are asked for"
        return f"{asked}, and there is room for {room} ({_said_of_cpus(demand, groups, most)})"
    return lacks_cpus_in_all(demand, groups, most)


def _said_of_cpus(demand: Demand, groups: Groups, most: int) -> str:
    """Return the message of sbatch: for too few CPUs in total, or per node."""
    return f'"{MORE_THAN_ALL if lacks_cpus_in_all(demand, groups, most) else NOT_AVAILABLE}"'


def lacks_cpus_in_all(demand: Demand, groups: Groups, most: int) -> str:
    """Return the lack if all nodes together have too few CPUs for the job."""
    wanted, there = demand.cpus_in_all, _room(groups, most, lambda node: node.cpus)
    if wanted <= there:
        return ""
    return f'{wanted} CPUs are asked for, and a partition has {there} ("{MORE_THAN_ALL}")'


def lacks_memory(demand: Demand, groups: Groups, _most: int) -> str:
    """Return the lack if no node has the memory that the job requests per node."""
    nodes = all_nodes(groups)
    largest = max(node.memory_mib for node in nodes)
    wanted = demand.memory_of_node_mib
    if wanted <= largest:
        return ""
    return (
        f"{wanted / 1024:g} GiB are asked for on a node; {types_of(nodes)} has "
        f'{largest / 1024:g} ("Memory specification can not be satisfied")'
    )


def lacks_gpus(demand: Demand, groups: Groups, most: int) -> str:
    """Return the lack if nodes have too few GPUs, each or together."""
    largest = max(node.gpus for node in all_nodes(groups))
    on_a_node = max(demand.gpus_per_node, demand.gpus_per_task, demand.gpus_of_sockets)
    if on_a_node > largest:
        asked = f"{on_a_node} GPUs are asked for on a node"
        return f'{asked}, which has {largest or "none"} ("{NOT_AVAILABLE}")'
    wanted = demand.gpus_in_all
    there = _room(groups, _nodes_of_job(demand, most), lambda node: node.gpus)
    if demand.gpus_per_node:
        there = min(there, most * demand.gpus_per_node)
    if wanted <= there:
        return ""
    return f'{wanted} GPUs are asked for, and there are {there or "none"} ("{NOT_AVAILABLE}")'


def lacks_nodes(demand: Demand, groups: Groups, most: int) -> str:
    """Return the lack if too few nodes have all resources together."""
    if any(lacks(demand, groups, most) for lacks in (lacks_cpus, lacks_memory, lacks_gpus)):
        return ""
    usable, wanted = len(cpus_of_usable(demand, groups)), demand.nodes_needed
    if usable >= min(wanted, sum(count for count, _ in groups)):
        return ""
    if not usable:
        return f'no node has all that the job asks for together ("{NOT_AVAILABLE}")'
    asked = f"{wanted} nodes are needed"
    return f'{asked}, and {usable} have what the job asks of each ("{NOT_AVAILABLE}")'


def _cpus(demand: Demand, node: Node) -> int:
    """Return the CPUs of a node that the job can use: threads, or cores alone."""
    return node.cores * threads_of_cores(demand, node) if has_hardware(demand, node) else 0


def _tasks(demand: Demand, node: Node) -> int:
    """Return the number of tasks for which a node has separate CPUs and GPUs."""
    limits = [cpus_for(demand, node) // demand.cpus_per_task]
    limits += [demand.tasks_per_node] if demand.tasks_per_node else []
    limits += [node.gpus // demand.gpus_per_task] if demand.gpus_per_task else []
    limits += [node.sockets * demand.tasks_per_socket] if demand.tasks_per_socket else []
    return min(limits)


def _room(groups: Groups, count: int, measure: Callable[[Node], int]) -> int:
    """Return the total of the largest nodes that the job can have."""
    each = [(max(map(measure, kinds)), number) for number, kinds in groups]
    total = 0
    for size, number in sorted(each, reverse=True):
        taken = min(number, count)
        total, count = total + size * taken, count - taken
    return total


def cpus_of_usable(demand: Demand, groups: Groups) -> list[int]:
    """Return the CPUs of each node that has all that the job asks of it, the fewest first.

    Of nodes that may be of several types the smallest count.
    """
    usable = [
        (min(_cpus(demand, node) for node in fitting), count)
        for count, kinds in groups
        if (fitting := [node for node in kinds if can_be_taken(demand, node)])
    ]
    return sorted(cpus for cpus, count in usable for _ in range(count))


def _nodes_of_job(demand: Demand, most: int) -> int:
    return min(demand.most_nodes or most, most)


def all_nodes(groups: Groups) -> list[Node]:
    """Return every kind of node that there may be."""
    return [node for _, kinds in groups for node in kinds]


def types_of(nodes: list[Node]) -> str:
    """Return the instance types of nodes, in words."""
    return ", ".join(sorted({node.instance_type for node in nodes}))
