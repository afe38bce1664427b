"""Rules for how processes are started: torchrun, copies, steps in the background, containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.jobs.calls import Call, Option, expanded
from slurmpod.jobs.demand import number_of
from slurmpod.jobs.environment_rules import FIXED_HOST
from slurmpod.jobs.registry import ScriptFinding, Topic
from slurmpod.jobs.script import Script, Step, node_count
from slurmpod.jobs.shell import BACKGROUND
from slurmpod.problems import Severity

LAUNCH = Topic("JOB", "How processes are started")

SRUN = "https://slurm.schedmd.com/srun.html"
TORCHRUN = "https://docs.pytorch.org/docs/stable/elastic/run.html"
ENROOT_DOCKER = "https://github.com/NVIDIA/enroot/blob/master/src/docker.sh"
OF_TASKS = ("ntasks", "ntasks-per-node", "tasks-per-node", "gpus-per-task", "ntasks-per-gpu")
WHICH_NODE = re.compile(r"SLURM_(?:NODEID|PROCID)")
MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch"})
SEVERAL = re.compile(r"[2-9]|[1-9][0-9]+|gpu|auto", re.ASCII)
SQUASHFS = re.compile(r"[^/$:#]+\.sqsh")
WITH_REGISTRY = re.compile(r"(?:docker://)?([a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]+)?)/([^#]+)")


@LAUNCH.rule(
    "JOB-060",
    "torchrun is started once on a node",
    why="torchrun starts the processes of a node itself. With several tasks on a node each of them "
    "starts all of these: GPUs are shared by too many, and ports collide.",
    fix="write --ntasks-per-node=1",
    source=TORCHRUN,
)
def _once_on_a_node(script: Script) -> Iterator[ScriptFinding]:
    for step in script.steps:
        tasks = _tasks_on_a_node(step, script) or 1
        for call in step.runs if tasks > 1 else ():
            processes = _argument(call, "nproc-per-node", script)
            if _is_torchrun(call) and SEVERAL.fullmatch(processes):
                message = f"each of {tasks} tasks on a node starts torchrun with {processes}"
                yield ScriptFinding(step.place, f"{message} processes")


@LAUNCH.rule(
    "JOB-061",
    "torchrun for several nodes is started on all of them",
    why="A batch script runs on the first node only. torchrun waits there for the other nodes, on "
    "which nobody starts it.",
    fix="write srun --ntasks-per-node=1 torchrun",
    source=TORCHRUN,
    severity=Severity.WARNING,
)
def _on_all_nodes(script: Script) -> Iterator[ScriptFinding]:
    if (script.fewest_nodes or 1) < 2:
        return
    for call in script.called:
        if _is_torchrun(call) and _argument(call, "nnodes", script) not in ("", "1", "1:1"):
            message = "torchrun is started on the first node only, and waits for the others"
            yield ScriptFinding(call.program.place, message)


@LAUNCH.rule(
    "JOB-062",
    "All nodes meet at one host",
    why="What srun starts runs on every node, and asks for its own name there: each node waits for "
    "the others at itself.",
    fix="choose the first node of the job: scontrol show hostnames $SLURM_JOB_NODELIST | head -1",
    source=TORCHRUN,
)
def _at_one_host(script: Script) -> Iterator[ScriptFinding]:
    for step in script.steps:
        nodes = node_count(step.option("nodes")) or script.fewest_nodes or 1
        for word in step.command if nodes > 1 else ():
            match = FIXED_HOST.search(word.raw)
            is_later = match and not FIXED_HOST.search(word.expanded)
            if match and is_later and not WHICH_NODE.search(word.raw):
                message = "each node meets itself: its own name is asked for in each task"
                yield ScriptFinding(word.place_of(match.start()), message)


@LAUNCH.rule(
    "JOB-063",
    "A step says how many tasks it has",
    why="With --cpus-per-task and a whole node, but no number of tasks, srun starts as many copies "
    "of the program as there is room for: the node's CPUs divided by --cpus-per-task.",
    fix="add --ntasks-per-node=1",
    source=f"{SRUN}#OPT_ntasks",
    severity=Severity.WARNING,
)
def _says_its_tasks(script: Script) -> Iterator[ScriptFinding]:
    if not script.option("exclusive") or any(script.option(name) for name in OF_TASKS):
        return
    for step in script.steps:
        cpus = step.option("cpus-per-task") or script.option("cpus-per-task")
        if cpus and step.is_certain and not any(step.option(name) for name in OF_TASKS):
            message = f"srun starts a copy of the program for each {cpus.value} CPUs of a node"
            yield ScriptFinding(step.place, message)


@LAUNCH.rule(
    "JOB-064",
    "Steps in the background are waited for",
    why="A job is over when its script is, and Slurm then ends the steps that still run.",
    fix="end the script with wait",
    source="https://slurm.schedmd.com/sbatch.html",
    severity=Severity.WARNING,
)
def _are_waited_for(script: Script) -> Iterator[ScriptFinding]:
    waits = [call.program.place for call in script.called if call.name == "wait"]
    for step in script.steps:
        is_behind = BACKGROUND in script.parsed.operators_of(step.place)
        if is_behind and not any(place > step.place for place in waits):
            yield ScriptFinding(step.place, "the script ends while this step runs")


@LAUNCH.rule(
    "JOB-070",
    "The name of an image is a file's, or a registry's",
    why="pyxis takes a name without / before it as an image of Docker Hub, and enroot takes what "
    "stands before # as the registry: without # it is part of a name on Docker Hub, unless enroot "
    "has credentials for the host.",
    fix="write ./ or / before a file, and # behind a registry: nvcr.io#nvidia/pytorch:25.06-py3",
    source=ENROOT_DOCKER,
    severity=Severity.WARNING,
)
def _image_is_found(script: Script) -> Iterator[ScriptFinding]:
    for option in _images(script):
        if SQUASHFS.fullmatch(option.value):
            message = f"'{option.value}' is looked for on Docker Hub, not in the folder of the job"
            yield ScriptFinding(option.place, message, f"write ./{option.value}, or its whole path")
        elif match := WITH_REGISTRY.fullmatch(option.value):
            message = f"'{match[1]}' counts as part of a name on Docker Hub"
            yield ScriptFinding(option.place, message, f"write {match[1]}#{match[2]}")


def _images(script: Script) -> Iterator[Option]:
    all_asking: list[Script | Step] = [script, *script.steps]
    for asking in all_asking:
        option = asking.option("container-image")
        if option:
            yield option


def _is_torchrun(call: Call) -> bool:
    if call.name == "torchrun":
        return True
    return call.name.startswith("python") and any(w.text in MODULES for w in call.arguments)


def _argument(call: Call, name: str, script: Script) -> str:
    """Return the value of an argument of torchrun, which takes `_` for `-`; "" without one."""
    texts = [word.text for word in call.arguments]
    for text, following in zip(texts, (*texts[1:], ""), strict=False):
        written, equals, value = text.partition("=")
        if written.removeprefix("--").replace("_", "-") == name and written.startswith("--"):
            return expanded(value if equals else following, script.values)
    return ""


def _tasks_on_a_node(step: Step, script: Script) -> int | None:
    """Return how many tasks of a step are on a node; None where that is not known."""
    nodes = node_count(step.option("nodes")) or script.fewest_nodes or 1
    for asking in (step, script):
        if asking.option("ntasks-per-node"):
            return number_of(asking, "ntasks-per-node")
        if asking.option("ntasks"):
            return (number_of(asking, "ntasks") or nodes) // nodes
    return None
