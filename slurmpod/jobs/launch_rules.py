"""Rules for how processes are started: torchrun, copies, steps in the background, containers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from slurmpod.jobs.calls import Option
from slurmpod.jobs.demand import number_of
from slurmpod.jobs.environment_rules import FIXED_HOST
from slurmpod.jobs.launchers import ITSELF, Launch, launch_of
from slurmpod.jobs.registry import ScriptFinding, Topic
from slurmpod.jobs.script import Script, Step, node_count
from slurmpod.jobs.shell import BACKGROUND, Place, Word
from slurmpod.jobs.training import is_training
from slurmpod.problems import Severity

LAUNCH = Topic("JOB", "How processes are started")

SRUN = "https://slurm.schedmd.com/srun.html"
TORCHRUN = "https://docs.pytorch.org/docs/stable/elastic/run.html"
ENROOT_DOCKER = "https://github.com/NVIDIA/enroot/blob/master/src/docker.sh"
OF_TASKS = ("ntasks", "ntasks-per-node", "tasks-per-node", "gpus-per-task", "ntasks-per-gpu")
WHICH_NODE = re.compile(r"SLURM_(?:NODEID|PROCID)")
MEETING = "MASTER_ADDR"
OF_RANKS = re.compile(
    r"\b(?:node|machine)[_-]?rank(?:\s*=\s*|\s+)\"?\$\{?(SLURM_(?:NODEID|PROCID))\b", re.IGNORECASE
)
RANK = re.compile(r"(?:(?:NODE|MACHINE)_?)?RANK", re.IGNORECASE)
OF_BATCH_SCRIPT = re.compile(r"\$\{?(SLURM_(?:NODEID|PROCID))\}?")
OF_TORCHRUN = "PET_"
"""Prefix of variables that torchrun reads as arguments."""

SQUASHFS = re.compile(r"[^/$:#]+\.sqsh")
WITH_REGISTRY = re.compile(r"(?:docker://)?([a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]+)?)/([^#]+)")


@LAUNCH.rule(
    "JOB-060",
    "A launcher of a node's processes is started once per node",
    why="torchrun, accelerate and deepspeed start the processes of a node themselves. With several "
    "tasks on a node each of them starts all of these: GPUs are shared by too many, and ports "
    "collide.",
    fix="write --ntasks-per-node=1",
    source=TORCHRUN,
)
def _once_on_a_node(script: Script) -> Iterator[ScriptFinding]:
    for step in script.steps:
        tasks = _tasks_on_a_node(step, script) or 1
        for launch in _launches(step, script) if tasks > 1 else ():
            if launch.starts_several:
                processes = launch.processes or "all"
                message = f"each of {tasks} tasks on a node starts {launch.launcher} with"
                yield ScriptFinding(step.place, f"{message} {processes} processes")


@LAUNCH.rule(
    "JOB-061",
    "Launchers for several nodes are started on all of them",
    why="A batch script runs on the first node only. torchrun and accelerate wait there for the "
    "other nodes, where they are not started; deepspeed uses only this node, unless a --hostfile "
    "names the others.",
    fix="write srun --ntasks-per-node=1 torchrun",
    source=TORCHRUN,
    severity=Severity.WARNING,
)
def _on_all_nodes(script: Script) -> Iterator[ScriptFinding]:
    if (script.fewest_nodes or 1) < 2:
        return
    for call in script.called:
        launch = launch_of(call, script.values)
        if launch is None or launch.others:
            continue
        place = call.program.place
        if launch.is_deepspeed and launch.is_certain:
            yield ScriptFinding(place, "deepspeed uses the first node only")
        elif launch.is_for_several_nodes and not launch.is_deepspeed:
            message = "is started on the first node only, and waits for the others"
            yield ScriptFinding(place, f"{launch.launcher} {message}")


@LAUNCH.rule(
    "JOB-062",
    "All nodes use one rendezvous host",
    why="What srun starts runs on every node. With its own name, or with localhost, each node "
    "waits for the others at itself; so does torchrun without a rendezvous host: it takes "
    "127.0.0.1.",
    fix="choose the first node of the job: scontrol show hostnames $SLURM_JOB_NODELIST | head -1",
    source=TORCHRUN,
)
def _at_one_host(script: Script) -> Iterator[ScriptFinding]:
    for step in script.steps:
        if _nodes_of(step, script) < 2:
            continue
        for word in (*step.command, *step.document):
            match = FIXED_HOST.search(word.raw)
            is_later = match and not FIXED_HOST.search(word.expanded)
            if match and is_later and not WHICH_NODE.search(word.raw):
                message = "each node waits at itself: each task uses its own host name"
                yield ScriptFinding(word.place_of(match.start()), message)
        yield from _at_itself(step, script)


@LAUNCH.rule(
    "JOB-067",
    "The rank of a node is read on the node",
    why="The batch script runs on the first node, where SLURM_NODEID and SLURM_PROCID are 0: it "
    "passes 0 to every node, and all wait for the others.",
    fix="put the command of srun in '...': srun bash -c 'torchrun --node_rank=$SLURM_NODEID ...'",
    source=f"{SRUN}#SECTION_OUTPUT-ENVIRONMENT-VARIABLES",
    severity=Severity.WARNING,
)
def _rank_of_its_own(script: Script) -> Iterator[ScriptFinding]:
    steps = [step for step in script.steps if _nodes_of(step, script) > 1]
    for step in steps:
        words = (*step.command, *step.document)
        for word, following in zip_longest(words, words[1:]):
            match = OF_RANKS.search(f"{word.expanded} {following.expanded if following else ''}")
            if match and match.start() < len(word.raw):
                yield ScriptFinding(word.place_of(match.start()), _always_zero(match[1]))
    for each in script.assignments if steps else ():
        match = OF_BATCH_SCRIPT.fullmatch(each.value)
        if match and RANK.fullmatch(each.name):
            yield ScriptFinding(each.place, _always_zero(match[1]))


@LAUNCH.rule(
    "JOB-063",
    "A step sets its number of tasks",
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
    "The script waits for steps in the background",
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
    "The name of an image is that of a file, or has its registry",
    why="pyxis takes a name without / before it as an image of Docker Hub, and enroot takes the "
    "part before # as the registry: without # it is part of a name on Docker Hub, unless enroot "
    "has credentials for the host.",
    fix="write ./ or / before a file, and # after a registry: nvcr.io#nvidia/pytorch:25.06-py3",
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


def _launches(step: Step, script: Script) -> Iterator[Launch]:
    launches = (launch_of(call, script.values) for call in step.runs)
    return (each for each in launches if each)


def _at_itself(step: Step, script: Script) -> Iterator[ScriptFinding]:
    """Yield steps over several nodes whose rendezvous host is the local machine."""
    launches = list(_launches(step, script))
    several = [each for each in launches if each.is_for_several_nodes]
    for launch in several:
        if ITSELF.match(launch.meeting):
            place = _place_of(launch.meeting, step)
            yield ScriptFinding(place, f"each node waits at itself: {launch.meeting}")
        elif not launch.meeting and launch.launcher == "torchrun" and _has_no_other(launch, script):
            yield ScriptFinding(step.place, "torchrun has no rendezvous host, and waits at itself")
    held = script.values.get(MEETING, ())
    if not launches and held and all(map(ITSELF.match, held)) and is_training(step, script):
        place = next(each.place for each in script.assignments if each.name == MEETING)
        yield ScriptFinding(place, f"each node waits at itself: {MEETING} is {held[0]}")


def _has_no_other(launch: Launch, script: Script) -> bool:
    """Return whether torchrun has no other source of a rendezvous host."""
    return launch.is_certain and not any(name.startswith(OF_TORCHRUN) for name in script.values)


def _place_of(text: str, step: Step) -> Place:
    """Return where a text stands in a step; the step's place where a variable holds it."""
    words: list[Word] = [*step.command, *step.document]
    found = (word.place_of(word.raw.index(text)) for word in words if text in word.raw)
    return next(found, step.place)


def _always_zero(variable: str) -> str:
    return f"{variable} is filled in by the batch script, where it is 0"


def _nodes_of(step: Step, script: Script) -> int:
    return node_count(step.option("nodes")) or script.fewest_nodes or 1


def _tasks_on_a_node(step: Step, script: Script) -> int | None:
    """Return how many tasks of a step are on a node; None where that is not known."""
    nodes = _nodes_of(step, script)
    for asking in (step, script):
        if asking.option("ntasks-per-node"):
            return number_of(asking, "ntasks-per-node")
        if asking.option("ntasks"):
            return (number_of(asking, "ntasks") or nodes) // nodes
    return None
