"""Rules that compare a job's requests with the nodes of its partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slurmpod.jobs.allocation import most_nodes
from slurmpod.jobs.demand import Demand, demand_of, gpus_of
from slurmpod.jobs.lacking import (
    NOT_AVAILABLE,
    Groups,
    all_nodes,
    cpus_of_usable,
    lacks_cpus,
    lacks_cpus_in_all,
    lacks_gpus,
    lacks_memory,
    lacks_nodes,
    types_of,
)
from slurmpod.jobs.partitions import asked_partitions, nodes_of, takes_no_nodes
from slurmpod.jobs.placing import cannot_be_placed
from slurmpod.jobs.registry import ClusterTopic, ScriptFinding
from slurmpod.jobs.script import Script, Step
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.resolved import ALL_NODES_PARTITION
from slurmpod.resolve.slurm import says_who_may_have_what

CAPACITY = ClusterTopic("JOB", "Resources of nodes (--env)")

SLURM_CONF = "https://slurm.schedmd.com/slurm.conf.html"
SBATCH = "https://slurm.schedmd.com/sbatch.html"
OF_CPUS = (
    "threads-per-core",
    "ntasks-per-node",
    "tasks-per-node",
    "cpus-per-task",
    "ntasks",
    "mincpus",
    "cpus-per-gpu",
    "ntasks-per-core",
    "sockets-per-node",
    "cores-per-socket",
    "extra-node-info",
    "ntasks-per-socket",
    "ntasks-per-gpu",
    "ntasks-per-tres",
)
OF_GPUS = (
    "gpus",
    "gpus-per-task",
    "gpus-per-node",
    "gpus-per-socket",
    "gres",
    "ntasks-per-gpu",
    "ntasks-per-tres",
)
OF_MEMORY = ("mem", "mem-per-cpu")

Judge = Callable[[Demand, Groups, int], str]
"""The resource missing in a partition, given its groups and a job's maximum of nodes; "": none."""


@CAPACITY.rule(
    "JOB-042",
    "Nodes have enough GPUs",
    why="Slurm refuses a job that asks for more GPUs than the nodes of its partition have.",
    fix="ask for as many as the instance type has",
    source=f"{SBATCH}#OPT_gres",
)
def _gpus_are_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    offered = _offered(script, resolved)
    if not offered:
        return
    nodes = [node for groups, _ in offered for node in all_nodes(groups)]
    most = max((node.gpus for node in nodes), default=0)
    too_many = list(_too_many_gpus(script, most, types_of(nodes)))
    yield from too_many
    if not too_many:
        yield from _lacking(script, resolved, OF_GPUS, lacks_gpus)


@CAPACITY.rule(
    "JOB-050",
    "Nodes have enough CPUs",
    why="Slurm refuses a job whose tasks need more CPUs than the nodes of its partition have.",
    fix="ask for fewer tasks on a node, or for fewer CPUs for each",
    source=f"{SBATCH}#OPT_cpus-per-task",
)
def _cpus_are_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    found = list(_lacking(script, resolved, OF_CPUS, lacks_cpus))
    if not found and says_who_may_have_what(resolved):
        found = list(_lacking(script, resolved, OF_CPUS, lacks_cpus_in_all, some_lack=any))
    yield from found or _tasks_can_be_placed(script, resolved)


def _tasks_can_be_placed(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    """Yield tasks for which there is room, and which Slurm does not place."""
    option = next((each for name in OF_CPUS if (each := script.option(name))), None)
    offered, demand = _offered(script, resolved), demand_of(script)
    names = asked_partitions(script, resolved)
    if (
        option
        and offered
        and all(
            cannot_be_placed(
                demand,
                cpus_of_usable(demand, groups)[:most],
                whole=demand.has_whole_nodes or name == ALL_NODES_PARTITION,
                slurm=script.slurm,
            )
            for name, (groups, most) in zip(names, offered, strict=True)
        )
    ):
        message = f'tasks cannot be spread over nodes so ("{NOT_AVAILABLE}")'
        fix = "ask for --ntasks and --nodes, without --ntasks-per-node and --overcommit"
        yield ScriptFinding(option.place, message, fix)


@CAPACITY.rule(
    "JOB-051",
    "Nodes have enough memory",
    why="Slurm refuses a job that asks for more memory than the nodes of its partition have.",
    fix="ask for less; --mem=0 takes all that a node has",
    source=f"{SBATCH}#OPT_mem",
)
def _memory_is_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    yield from _lacking(script, resolved, OF_MEMORY, lacks_memory)


@CAPACITY.rule(
    "JOB-066",
    "Enough nodes have all requested resources",
    why="A job takes only nodes that have all that it asks of each. Of a partition with several "
    "kinds of nodes these may be fewer than --nodes asks for.",
    fix="ask for fewer nodes, or for less on each",
    source=f"{SBATCH}#OPT_nodes",
)
def _enough_nodes_have_it(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    names = ("nodes", *OF_CPUS, *OF_GPUS, *OF_MEMORY)
    yield from _lacking(script, resolved, names, lacks_nodes)


@CAPACITY.rule(
    "JOB-056",
    "GPUs are requested without a type",
    why="HyperPod declares GPUs without a type, so that Slurm finds none of the type that a job "
    "names, and refuses the job. The partition says what GPUs a job gets.",
    fix="leave the type out, e.g. --gres=gpu:8",
    source=f"{SLURM_CONF}#OPT_Gres",
    severity=Severity.WARNING,
)
def _gpus_have_no_type(script: Script, _resolved: Resolved) -> Iterator[ScriptFinding]:
    # sbatch skips a type in --gpus-per-task that has no number behind it.
    for name in ("gpus", "gpus-per-task", "gpus-per-node", "gres", "gpus-per-socket"):
        option = script.option(name)
        is_skipped = name == "gpus-per-task" and option and ":" not in option.value
        if option and not is_skipped and (wanted := gpus_of(script, name).type):
            message = f"no node has GPUs of a type '{wanted}'"
            yield ScriptFinding(option.place, f'{message} ("{NOT_AVAILABLE}")')


def _too_many_gpus(script: Script, most: int, types: str) -> Iterator[ScriptFinding]:
    all_asking: list[Script | Step] = [script, *script.steps]
    for asking in all_asking:
        name = "gres" if gpus_of(asking, "gres").count else "gpus-per-node"
        option, wanted = asking.option(name), gpus_of(asking, name).count
        if option and wanted > most:
            message = f"{wanted} GPUs are asked for on a node; {types} has {most or 'none'}"
            yield ScriptFinding(option.place, message)


def _lacking(
    script: Script,
    resolved: Resolved,
    names: tuple[str, ...],
    judge: Judge,
    some_lack: Callable[[list[str]], bool] = all,
) -> Iterator[ScriptFinding]:
    """Yield the resources that all partitions of the job lack: one with enough is sufficient.

    With `any` instead of `all` each of them needs enough.
    """
    option = next((each for name in names if (each := script.option(name))), None)
    offered = _offered(script, resolved)
    if not option or not offered:
        return
    demand = demand_of(script)
    lacking = [judge(demand, groups, count) for groups, count in offered]
    if some_lack(lacking):
        yield ScriptFinding(option.place, next(filter(None, lacking)))


def _offered(script: Script, resolved: Resolved) -> list[tuple[Groups, int]]:
    """Return the nodes of each partition of the job.

    Nothing if any of them is unknown, or for a job without nodes.
    """
    if takes_no_nodes(script):
        return []
    names = asked_partitions(script, resolved)
    found = [(nodes_of(resolved, name), most_nodes(resolved, name)) for name in names]
    offered = [(groups, count) for groups, count in found if groups]
    return offered if len(offered) == len(found) else []
