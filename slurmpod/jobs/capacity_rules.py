"""Rules that hold what a job asks for against what the nodes of its partitions have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slurmpod.jobs.allocation import most_nodes
from slurmpod.jobs.demand import Demand, demand_of, gpus_of
from slurmpod.jobs.partitions import Node, asked_partitions, nodes_of
from slurmpod.jobs.placing import cannot_be_placed
from slurmpod.jobs.registry import ClusterTopic, ScriptFinding
from slurmpod.jobs.room import cpus_for, has_hardware, threads_of_cores
from slurmpod.jobs.script import Script, Step
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.resolved import ALL_NODES_PARTITION
from slurmpod.resolve.slurm import says_who_may_have_what

CAPACITY = ClusterTopic("JOB", "What nodes have (--env)")

SLURM_CONF = "https://slurm.schedmd.com/slurm.conf.html"
SBATCH = "https://slurm.schedmd.com/sbatch.html"
MORE_THAN_ALL = "More processors requested than permitted"
NOT_AVAILABLE = "Requested node configuration is not available"
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

Groups = list[tuple[int, tuple[Node, ...]]]
"""The groups of a partition: how many nodes, and what each of them may be."""

Judge = Callable[[Demand, Groups, int], str]
"""What a partition with these groups lacks, of which a job can have so many nodes; "": nothing."""


@CAPACITY.rule(
    "JOB-042",
    "Nodes have as many GPUs",
    why="Slurm refuses a job that asks for more GPUs than the nodes of its partition have.",
    fix="ask for as many as the instance type has",
    source=f"{SBATCH}#OPT_gres",
)
def _gpus_are_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    offered = _offered(script, resolved)
    if not offered:
        return
    nodes = [node for groups, _ in offered for node in _all_nodes(groups)]
    most = max((node.gpus for node in nodes), default=0)
    too_many = list(_too_many_gpus(script, most, _types(nodes)))
    yield from too_many
    if not too_many:
        yield from _lacking(script, resolved, OF_GPUS, _lacks_gpus)


@CAPACITY.rule(
    "JOB-050",
    "Nodes have as many CPUs",
    why="Slurm refuses a job whose tasks need more CPUs than the nodes of its partition have.",
    fix="ask for fewer tasks on a node, or for fewer CPUs for each",
    source=f"{SBATCH}#OPT_cpus-per-task",
)
def _cpus_are_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    found = list(_lacking(script, resolved, OF_CPUS, _lacks_cpus))
    if not found and says_who_may_have_what(resolved):
        found = list(_lacking(script, resolved, OF_CPUS, _lacks_cpus_in_all, some_lack=any))
    yield from found or _tasks_can_be_placed(script, resolved)


def _tasks_can_be_placed(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    """Yield tasks for which there is room, and which Slurm refuses on nodes that are shared."""
    option = next((each for name in OF_CPUS if (each := script.option(name))), None)
    gets_whole_nodes = ALL_NODES_PARTITION in asked_partitions(script, resolved)
    if not option or gets_whole_nodes or not _offered(script, resolved):
        return
    if cannot_be_placed(demand_of(script), script.slurm):
        message = f'tasks cannot be spread over nodes so ("{NOT_AVAILABLE}")'
        fix = "ask for --ntasks and --nodes, without --ntasks-per-node and --overcommit"
        yield ScriptFinding(option.place, message, fix)


@CAPACITY.rule(
    "JOB-051",
    "Nodes have as much memory",
    why="Slurm refuses a job that asks for more memory than the nodes of its partition have.",
    fix="ask for less; --mem=0 takes all that a node has",
    source=f"{SBATCH}#OPT_mem",
)
def _memory_is_there(script: Script, resolved: Resolved) -> Iterator[ScriptFinding]:
    yield from _lacking(script, resolved, OF_MEMORY, _lacks_memory)


@CAPACITY.rule(
    "JOB-056",
    "GPUs are asked for without a type",
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
    """Yield what all partitions of the job lack: one that has enough of it is sufficient.

    With `any` in place of `all` each of them needs enough.
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
    """Return what each partition of the job has; nothing where that is not known of all.

    Nothing either for --nodes=0, a job without nodes, which sbatch takes.
    """
    if script.fewest_nodes == 0:
        return []
    names = asked_partitions(script, resolved)
    found = [(nodes_of(resolved, name), most_nodes(resolved, name)) for name in names]
    offered = [(groups, count) for groups, count in found if groups]
    return offered if len(offered) == len(found) else []


def _lacks_cpus(demand: Demand, groups: Groups, most: int) -> str:
    nodes = _all_nodes(groups)
    if not any(has_hardware(demand, node) for node in nodes):
        lacking = "has not the sockets, cores and threads that are asked for"
        return f'{_types(nodes)} {lacking} ("{NOT_AVAILABLE}")'
    largest = max(_cpus(demand, node) for node in nodes)
    if demand.cpus_needed > largest:
        tasks = 1 if demand.tasks else demand.tasks_per_node or 1
        product = f"{tasks} tasks x {demand.cpus_per_task} CPUs = " if tasks > 1 else ""
        asked = f"{product}{demand.cpus_needed} CPUs are asked for on a node"
        return f"{asked}; {_types(nodes)} has {largest} ({_said_of_cpus(demand, groups, most)})"
    if demand.tasks_per_gpu > largest and (demand.tasks or 0) > 1 and not demand.overcommits:
        asked = f"{demand.tasks_per_gpu} tasks are asked for on each GPU"
        return f'{asked}; {_types(nodes)} has {largest} CPUs ("{NOT_AVAILABLE}")'
    if not any(cpus_for(demand, node) for node in nodes):
        asked = f"{demand.tasks_per_node or 1} tasks are asked for on a node"
        return (
            f"{asked}, and fewer have room on its sockets ({_said_of_cpus(demand, groups, most)})"
        )
    room = _room(groups, _nodes_of_job(demand, most), lambda node: _tasks(demand, node))
    if demand.tasks and demand.tasks > room:
        asked = f"{demand.tasks} tasks with {demand.cpus_per_task} CPUs each are asked for"
        return f"{asked}, and there is room for {room} ({_said_of_cpus(demand, groups, most)})"
    return _lacks_cpus_in_all(demand, groups, most)


def _said_of_cpus(demand: Demand, groups: Groups, most: int) -> str:
    """Return what sbatch says: whether all nodes together, or each of them, have too few CPUs."""
    return f'"{MORE_THAN_ALL if _lacks_cpus_in_all(demand, groups, most) else NOT_AVAILABLE}"'


def _lacks_cpus_in_all(demand: Demand, groups: Groups, most: int) -> str:
    """Return what is lacking where all nodes together have too few CPUs for the job."""
    wanted, there = demand.cpus_in_all, _room(groups, most, lambda node: node.cpus)
    if wanted <= there:
        return ""
    return f'{wanted} CPUs are asked for, and a partition has {there} ("{MORE_THAN_ALL}")'


def _lacks_memory(demand: Demand, groups: Groups, _most: int) -> str:
    nodes = _all_nodes(groups)
    largest = max(node.memory_mib for node in nodes)
    wanted = demand.memory_of_node_mib
    if wanted <= largest:
        return ""
    return (
        f"{wanted / 1024:g} GiB are asked for on a node; {_types(nodes)} has "
        f'{largest / 1024:g} ("Memory specification can not be satisfied")'
    )


def _lacks_gpus(demand: Demand, groups: Groups, most: int) -> str:
    largest = max(node.gpus for node in _all_nodes(groups))
    on_a_node = max(demand.gpus_per_task, demand.gpus_of_sockets)
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


def _cpus(demand: Demand, node: Node) -> int:
    """Return the CPUs of a node that the job can use: threads, or cores alone."""
    return node.cores * threads_of_cores(demand, node) if has_hardware(demand, node) else 0


def _tasks(demand: Demand, node: Node) -> int:
    """Return how many tasks of the job have room on a node.

    Those that share CPUs all have, but sbatch was seen to leave a node one task beside
    --cpus-per-task.
    """
    if demand.overcommits:
        return demand.tasks_per_node or (1 if demand.names_cpus else demand.tasks or 1)
    limits = [cpus_for(demand, node) // demand.cpus_per_task]
    limits += [demand.tasks_per_node] if demand.tasks_per_node else []
    limits += [node.gpus // demand.gpus_per_task] if demand.gpus_per_task else []
    return min(limits)


def _room(groups: Groups, count: int, measure: Callable[[Node], int]) -> int:
    """Return what the largest nodes have together, as many as the job can have."""
    each = [(max(map(measure, kinds)), number) for number, kinds in groups]
    total = 0
    for size, number in sorted(each, reverse=True):
        taken = min(number, count)
        total, count = total + size * taken, count - taken
    return total


def _nodes_of_job(demand: Demand, most: int) -> int:
    return min(demand.most_nodes or most, most)


def _all_nodes(groups: Groups) -> list[Node]:
    return [node for _, kinds in groups for node in kinds]


def _types(nodes: list[Node]) -> str:
    return ", ".join(sorted({node.instance_type for node in nodes}))
