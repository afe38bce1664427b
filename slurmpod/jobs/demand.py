"""A batch script's requests as numbers: tasks, CPUs, memory and GPUs."""

from __future__ import annotations

import re

from slurmpod.jobs.hardware import ALL_PARTS, Hardware, hardware_of
from slurmpod.jobs.options import mebibytes, node_counts, options_of, refusal
from slurmpod.jobs.script import Script, Step
from slurmpod.value import Value

GPUS = re.compile(
    r"(?:gres/)?gpu(?::(?P<type>[\w.-]*[a-zA-Z_.-][\w.-]*))?(?:[:=](?P<count>[0-9]{1,9}))?",
    re.ASCII,
)
GPUS_ALONE = re.compile(
    r"(?:(?P<type>[\w.-]*[a-zA-Z_.-][\w.-]*):?)?(?P<count>[0-9]{1,9})?", re.ASCII
)
MOST_DIGITS = 9
TASKS_PER_NODE = ("ntasks-per-node", "tasks-per-node")


class Gpus(Value):
    """GPUs that one option asks for, of one type; "" where it names none."""

    count: int
    type: str


class Demand(Value):
    """The numbers of a job; None if missing or unreadable."""

    fewest_nodes: int | None
    most_nodes: int | None
    tasks: int | None
    names_tasks: bool
    tasks_per_node: int | None
    tasks_per_core: int | None
    tasks_per_socket: int
    tasks_per_gpu: int
    cpus_per_task: int
    names_cpus: bool
    cpus_per_node: int
    memory_mib: float
    memory_per_cpu_mib: float
    gpus: int
    gpus_per_node: int
    gpus_per_task: int
    gpus_of_sockets: int
    cpus_per_gpu: int
    hardware: Hardware
    overcommits: bool
    has_whole_nodes: bool

    @property
    def cpus_needed(self) -> int:
        """CPUs that at least one node must have, where the job does not name its tasks."""
        tasks = 1 if self.tasks and not self.overcommits else self.tasks_per_node or 1
        if not (self.overcommits or self.tasks_per_node):
            tasks = self.tasks_per_socket or max(tasks, self.tasks_per_core or 1)
        per_gpus = self.cpus_per_gpu * self.gpus_per_node
        return max(tasks * self.cpus_per_task, self.cpus_per_node, per_gpus)

    @property
    def memory_of_node_mib(self) -> float:
        """Memory that at least one node must have."""
        tasks = self.tasks_per_node or 1
        if self.overcommits or self.tasks == 1:
            tasks = 1
        cpus = max(tasks * self.cpus_per_task, self.cpus_per_node)
        return max(self.memory_mib, self.memory_per_cpu_mib * cpus)

    @property
    def nodes_needed(self) -> int:
        """Nodes that the job must have: those that it names, or those that hold its tasks."""
        tasks = self.tasks or 1
        return self.fewest_nodes or -(-tasks // (self.tasks_per_node or tasks))

    @property
    def asks_for_gpus(self) -> bool:
        """Return whether the job asks for GPUs in any way."""
        return bool(self.gpus_in_all)

    @property
    def gpus_in_all(self) -> int:
        """GPUs that the job asks for on all its nodes together."""
        nodes = self.fewest_nodes or 1
        tasks = self.tasks or nodes * (self.tasks_per_node or 1)
        for_tasks = 0
        if self.tasks_per_gpu:
            for_tasks = self._gpus_of_tasks if self.tasks else nodes
        asked = max(self.gpus, self.gpus_per_node * nodes, self.gpus_per_task * tasks)
        return asked or for_tasks

    @property
    def _gpus_of_tasks(self) -> int:
        """GPUs that tasks ask for, where each GPU has some; too few tasks may ask for none."""
        tasks = self.tasks or 0
        return max(tasks // self.tasks_per_gpu, 1 if self.names_tasks and tasks > 1 else 0)

    @property
    def cpus_in_all(self) -> int:
        """CPUs that the job asks for on all its nodes together."""
        tasks = self.tasks or max(
            (self.fewest_nodes or 1) * (self.tasks_per_node or 1),
            self.gpus_in_all * self.tasks_per_gpu,
        )
        is_range = self.fewest_nodes != self.most_nodes
        if is_range and self.tasks_per_node and not self.tasks and tasks <= self.cpus_per_task:
            tasks = 1  # sbatch reckons with one, and slurmctld finds that many CPUs sufficient
        for_tasks = 0 if self.overcommits else tasks * self.cpus_per_task
        return max(for_tasks, self.gpus_in_all * self.cpus_per_gpu)


def demand_of(script: Script) -> Demand:
    """Return the requests of a script's directives."""
    nodes = node_counts(_value(script, "nodes"))
    per_node = gpus_of(script, "gres").count or gpus_of(script, "gpus-per-node").count
    hardware = hardware_of(script)
    return Demand(
        fewest_nodes=_fewest_nodes(script),
        most_nodes=nodes[1] if nodes else None,
        tasks=number_of(script, "ntasks") or _tasks_of_hardware(script, hardware),
        names_tasks=script.option("ntasks") is not None,
        tasks_per_node=_tasks_per_node(script),
        tasks_per_core=number_of(script, "ntasks-per-core"),
        tasks_per_socket=number_of(script, "ntasks-per-socket") or 0,
        tasks_per_gpu=max(number_of(script, f"ntasks-per-{each}") or 0 for each in ("gpu", "tres")),
        cpus_per_task=number_of(script, "cpus-per-task") or 1,
        names_cpus=script.option("cpus-per-task") is not None,
        cpus_per_node=number_of(script, "mincpus") or 0,
        memory_mib=mebibytes(_value(script, "mem")) or 0,
        memory_per_cpu_mib=mebibytes(_value(script, "mem-per-cpu")) or 0,
        gpus=gpus_of(script, "gpus").count,
        gpus_per_node=per_node,
        gpus_per_task=gpus_of(script, "gpus-per-task").count,
        gpus_of_sockets=gpus_of(script, "gpus-per-socket").count * (hardware.sockets or 1),
        cpus_per_gpu=number_of(script, "cpus-per-gpu") or 0,
        hardware=hardware,
        overcommits=script.option("overcommit") is not None,
        has_whole_nodes=_has_whole_nodes(script),
    )


def gpus_of(asking: Script | Step, name: str) -> Gpus:
    """Return the GPUs in `--gres=gpu:h100:8` or `--gpus-per-node=8`; 0 for other resources.

    Of several counts the last one takes the place of those before it, but for those of tasks, of
    which sbatch reads the first alone; slurmctld leaves out a count of 0.
    """
    pattern = GPUS if name == "gres" else GPUS_ALONE
    value = _value(asking, name)
    matches = [match for part in value.split(",") if part and (match := pattern.fullmatch(part))]
    types = (match["type"] for match in matches if match["type"])
    counts = [count for match in matches if (count := int(match["count"] or 1))] or [0]
    return Gpus(counts[0 if name == "gpus-per-task" else -1], next(types, ""))


def number_of(asking: Script | Step, name: str) -> int | None:
    """Return the number that an option asks for; None without one that Slurm can read."""
    value = _value(asking, name).strip()
    if not value or len(value) > MOST_DIGITS or refusal(options_of("sbatch")[name], value):
        return None
    return int(value)


def _value(asking: Script | Step, name: str) -> str:
    option = asking.option(name)
    return option.value if option else ""


def _has_whole_nodes(script: Script) -> bool:
    """Return whether the job has its nodes alone: --exclusive without a value."""
    option = script.option("exclusive")
    return option is not None and not option.value


def _tasks_per_node(script: Script) -> int | None:
    """Return the value of the last use of an option with two names."""
    given = [each for each in script.options if each.name in TASKS_PER_NODE]
    return number_of(script, given[-1].name) if given else None


def _fewest_nodes(script: Script) -> int | None:
    """Return the least number of nodes: sbatch lowers it to the number of tasks."""
    nodes, tasks = script.fewest_nodes, number_of(script, "ntasks")
    return min(nodes, tasks) if nodes and tasks else nodes


def _tasks_of_hardware(script: Script, hardware: Hardware) -> int | None:
    """Return the tasks that sbatch takes where none are named: one on each thread asked for."""
    nodes = script.option("nodes")
    is_range = nodes is not None and not nodes.value.isdigit()
    asks = nodes or script.option(ALL_PARTS)
    named = any(script.option(name) for name in ("ntasks", "ntasks-per-node", "tasks-per-node"))
    if named or is_range or not asks or not hardware.is_said:
        return None
    return (script.fewest_nodes or 1) * hardware.product
