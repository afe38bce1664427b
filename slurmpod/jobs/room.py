"""CPUs of an idle node that a job can use, as Slurm's select/cons_tres counts them."""

from __future__ import annotations

from slurmpod.jobs.demand import Demand
from slurmpod.jobs.partitions import Node


def cpus_for(demand: Demand, node: Node) -> int:
    """Return the CPUs of a node for the tasks of a job; 0 if it cannot be used."""
    if not has_hardware(demand, node):
        return 0
    per_socket = node.cores_per_socket * threads_of_cores(demand, node)
    least = _fewest_cpus(demand)
    tasks = node.sockets * min(per_socket, demand.tasks_per_socket or per_socket)
    if demand.tasks_per_node and not demand.has_whole_nodes:
        tasks = min(tasks, demand.tasks_per_node)
    cpus = node.sockets * per_socket
    if cpus < least:
        return 0
    if not demand.asks_for_gpus:
        cpus = _cpus_of_tasks(demand, node, cpus, tasks)
    has_too_few = tasks < (demand.tasks_per_node or 0) and not demand.overcommits
    return 0 if has_too_few or cpus < least else cpus


def can_be_taken(demand: Demand, node: Node) -> bool:
    """Return whether a node has all resources that the job requests per node."""
    least = (demand.gpus_per_node, demand.gpus_per_task, demand.gpus_of_sockets)
    has_gpus = node.gpus >= max(*least, int(demand.asks_for_gpus))
    return has_gpus and has_cpus(demand, node) and node.memory_mib >= demand.memory_of_node_mib


def has_cpus(demand: Demand, node: Node) -> bool:
    """Return whether a node has CPUs for the tasks that the job has on each node."""
    return cpus_for(demand, node) >= (demand.tasks_per_node or 1) * demand.cpus_per_task


def _fewest_cpus(demand: Demand) -> int:
    """Return the CPUs without which Slurm takes no node for the job."""
    least = max(demand.cpus_per_node, demand.cpus_per_task)
    if (demand.tasks or 0) > 1 and demand.tasks_per_node and not demand.overcommits:
        return max(least, demand.tasks_per_node * demand.cpus_per_task)
    return least


def has_hardware(demand: Demand, node: Node) -> bool:
    """Return whether a node has the sockets, cores and threads that a job asks for."""
    wanted = demand.hardware
    return (
        (wanted.sockets or 0) <= node.sockets
        and (wanted.cores_per_socket or 0) <= node.cores_per_socket
        and (wanted.threads_per_core or 0) <= node.threads
        and demand.tasks_per_socket <= node.threads * node.cores_per_socket
    )


def threads_of_cores(demand: Demand, node: Node) -> int:
    """Return on how many threads of each core a job can have tasks."""
    limits = [node.threads, demand.hardware.threads_per_core or node.threads]
    if demand.tasks_per_core:
        limits.append(demand.tasks_per_core * demand.cpus_per_task)
    return min(limits)


def _cpus_of_tasks(demand: Demand, node: Node, cpus: int, tasks: int) -> int:
    """Return what whole tasks can use of the CPUs."""
    if demand.cpus_per_task == 1:
        return tasks
    threads = threads_of_cores(demand, node)
    if demand.tasks_per_core == 1 and demand.cpus_per_task > threads:
        on_whole_cores = -(-demand.cpus_per_task // threads) * threads
        return cpus // on_whole_cores * demand.cpus_per_task
    return min(tasks, cpus // demand.cpus_per_task) * demand.cpus_per_task
