"""Tasks that some versions of Slurm cannot place on nodes, although there are enough CPUs.

With --overcommit slurmctld chooses nodes without regard to tasks: as many as the job may have, each
with the CPUs of one task. Afterwards it finds no room for more tasks on them, if these have
separate CPUs or GPUs, or if the job has the nodes exclusively.
"""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.jobs.demand import Demand

OLD, NEW = SLURMS = ("24.11", "26.05")
"""The versions whose sbatch was tried."""


def cannot_be_placed(demand: Demand, cpus: Sequence[int], *, whole: bool, slurm: str) -> bool:
    """Return whether a version refuses the tasks; without one that was tried, whether all do.

    `cpus` are those of the nodes that the job can get; it has them for itself if `whole`.
    """
    tried = [slurm] if slurm in SLURMS else SLURMS
    if not demand.overcommits:
        return tried == [NEW] and _is_one_of_several(demand) and not whole
    return all(_have_no_room(demand, cpus, whole, version) for version in tried)


def _have_no_room(demand: Demand, cpus: Sequence[int], whole: bool, slurm: str) -> bool:
    taken = sorted(cpus)[: _nodes_taken(demand, len(cpus), slurm)]
    if not taken:
        return False
    most = len(cpus) if demand.gpus else len(taken)
    if _are_too_many_for_nodes(demand, most, slurm):
        return True
    uses_all = slurm == NEW and demand.names_cpus and demand.asks_for_gpus
    if not (whole or uses_all or demand.names_cpus or demand.gpus_per_task):
        return False
    has_one = bool(demand.gpus_per_task) and not uses_all
    room = (each if whole or uses_all else demand.cpus_per_node for each in taken)
    tasks = sum(1 if has_one else max(1, each // demand.cpus_per_task) for each in room)
    return _tasks_placed(demand, len(taken), slurm) > tasks


def _nodes_taken(demand: Demand, there: int, slurm: str) -> int:
    """Return how many nodes slurmctld takes: one for each task from 26.05 on, if it may."""
    fewest, most = demand.nodes_needed, demand.most_nodes
    if not most and slurm == NEW:
        most = demand.tasks or fewest * (demand.tasks_per_node or 1)
    elif not most and (demand.gpus or demand.gpus_per_task):
        most = there
    return min(max(fewest, most or 1), there)


def _tasks_placed(demand: Demand, nodes: int, slurm: str) -> int:
    """Return how many tasks slurmctld places: those of nodes count more from 26.05 on."""
    of_nodes = nodes * (demand.tasks_per_node or 0)
    return (of_nodes or demand.tasks or 1) if slurm == NEW else (demand.tasks or of_nodes or 1)


def _are_too_many_for_nodes(demand: Demand, nodes: int, slurm: str) -> bool:
    """Return whether nodes would have more than --ntasks-per-node.

    From 26.05 on a job's only node may have more, but not fewer where it has GPUs.
    """
    if slurm == NEW and demand.asks_for_gpus and _is_one_of_several(demand):
        return True
    may_have_more = slurm == NEW and 1 in (demand.most_nodes, demand.gpus)
    on_a_node = demand.tasks_per_node
    return bool(on_a_node and not may_have_more and (demand.tasks or 0) > nodes * on_a_node)


def _is_one_of_several(demand: Demand) -> bool:
    """Return whether a job has one task, and says that a node has several."""
    return demand.names_tasks and demand.tasks == 1 and (demand.tasks_per_node or 1) > 1
