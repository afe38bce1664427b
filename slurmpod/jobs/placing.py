"""What versions of Slurm refuse though there is room: tasks that they cannot place on nodes.

This is what the sbatch of each said of many scripts. Nodes that a job has for itself take them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from slurmpod.jobs.demand import Demand


def cannot_be_placed(demand: Demand, slurm: str) -> bool:
    """Return whether a version refuses the tasks; without one that was tried, whether all do."""
    tried = [REFUSES[slurm]] if slurm in REFUSES else REFUSES.values()
    return not demand.has_whole_nodes and all(refuses(demand) for refuses in tried)


def _refused_by_24_11(demand: Demand) -> bool:
    """With --overcommit and --cpus-per-task a node gets one task, and one node is taken."""
    shares_named_cpus = demand.overcommits and demand.names_cpus
    if not demand.tasks:
        return shares_named_cpus and _several_on_a_node(demand)
    return shares_named_cpus and demand.tasks > (demand.most_nodes or 1)


def _refused_by_26_05(demand: Demand) -> bool:
    """Several tasks on a node with one task, or with CPUs of their own that they share."""
    if demand.overcommits:
        return demand.names_cpus and demand.tasks != 1 and _several_on_a_node(demand)
    return demand.names_tasks and demand.tasks == 1 and _several_on_a_node(demand)


def _several_on_a_node(demand: Demand) -> bool:
    return (demand.tasks_per_node or 1) > 1


REFUSES: Mapping[str, Callable[[Demand], bool]] = MappingProxyType(
    {"24.11": _refused_by_24_11, "26.05": _refused_by_26_05}
)
