"""Rules for options of sbatch and srun: names, values, and combinations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import product

from slurmpod.environment.suggestion import did_you_mean
from slurmpod.jobs.calls import Option
from slurmpod.jobs.demand import demand_of
from slurmpod.jobs.hardware import ALL_PARTS, follows_hint, hardware_of
from slurmpod.jobs.moments import at_least_minutes_from_now, at_most_minutes_from_now
from slurmpod.jobs.options import (
    NEWEST,
    Program,
    full_names,
    is_unlimited,
    minutes,
    options_of,
    refusal,
)
from slurmpod.jobs.registry import ScriptFinding, Topic
from slurmpod.jobs.script import Script

OPTIONS = Topic("JOB", "Options of sbatch and srun")

SBATCH = "https://slurm.schedmd.com/sbatch.html"
OPTION_PARSER = "https://github.com/SchedMD/slurm/blob/slurm-24-11-5-1/src/common/slurm_opt.c"
EXPANDED_LATER = re.compile(r"[$`]")
EXCLUDING = (
    ("mem", "mem-per-cpu", "mem-per-gpu"),
    ("exclusive", "oversubscribe"),
    ("cpus-per-task", "cpus-per-gpu"),
    ("core-spec", "thread-spec"),
    *product(
        ("ntasks-per-node", "tasks-per-node", "gpus-per-task", "gpus-per-socket", "tres-per-task"),
        ("ntasks-per-gpu", "ntasks-per-tres"),
    ),
)
"""Options of which sbatch takes one only."""

ONE_NUMBER_OF_GPUS = "26.05"
"""The Slurm whose sbatch was seen to refuse --gpus-per-node beside --gres=gpu."""

GPUS_OF_JOB = ("gpus", "gpus-per-node", "gres")
ANY_GPUS = (*GPUS_OF_JOB, "gpus-per-task", "gpus-per-socket", "tres-per-task")
OF_TASKS_AND_GPUS = ("ntasks-per-gpu", "ntasks-per-tres")
SOCKETS = "extra-node-info=SOCKETS"
NEEDED = {
    "gpus-per-task": ("ntasks", "gpus", "nodes", ALL_PARTS),
    "gpus-per-socket": ("sockets-per-node", SOCKETS),
    "cpus-per-gpu": (*ANY_GPUS, *OF_TASKS_AND_GPUS),
    "mem-per-gpu": (*ANY_GPUS, *OF_TASKS_AND_GPUS),
    **dict.fromkeys(OF_TASKS_AND_GPUS, (*GPUS_OF_JOB, "ntasks", "nodes", ALL_PARTS)),
}
"""Options that sbatch takes only with one of these beside them; `nodes` as a number, no range."""

OF_GPUS = re.compile(r"(?:^|,)(?:gres[/:])?gpu(?![^:=,])")
PLANE = re.compile(r"plane=0*([1-9][0-9]{0,8})", re.ASCII | re.IGNORECASE)
SAYS_NOTHING = re.compile(r"none|(?:.*[:=])?0+[kmgt]?b?|.*:[^0-9]*", re.ASCII | re.IGNORECASE)
"""Values with which an option asks for nothing, or for what sbatch does not read as a number."""


@OPTIONS.rule(
    "JOB-007",
    "Options exist",
    why="sbatch refuses a script with an option that it does not know, and so does srun. Both take "
    "the beginning of a name that fits one option only.",
    fix="write an option of sbatch(1) or srun(1)",
    source=OPTION_PARSER,
)
def _options_exist(script: Script) -> Iterator[ScriptFinding]:
    for program, option in _all_options(script):
        meant = full_names(option.name, program)
        known = options_of(program).get(option.name)
        if known and known.since > (script.slurm or NEWEST):
            message = f"{program} knows --{option.name} from Slurm {known.since} on"
            yield ScriptFinding(option.place, message, "remove it")
        if known or option.name == "auto-resume":
            continue
        dashes = "-" if len(option.name) == 1 else "--"
        message = f"{program} has no option {dashes}{option.name}"
        if meant:
            message = f"--{option.name} is ambiguous: it begins {', '.join(meant)}"
        yield ScriptFinding(option.place, message, did_you_mean(option.name, options_of(program)))
    for word in script.strays:
        fix = "remove it, or write it into the option to which it belongs"
        yield ScriptFinding(word.place, f"'{word.text}' is no option of sbatch", fix)


@OPTIONS.rule(
    "JOB-008",
    "Values can be read",
    why="sbatch refuses a value that it cannot read. It expands no variables, and takes a value "
    "behind `=` or one blank, without blanks around `=`.",
    fix="write the value as sbatch(1) says",
    source=OPTION_PARSER,
)
def _values_can_be_read(script: Script) -> Iterator[ScriptFinding]:
    for program, option in _all_options(script):
        known = options_of(program).get(option.name)
        if not known or (program == "srun" and EXPANDED_LATER.search(option.value)):
            continue
        if option.name == "hint" and not follows_hint(script):
            continue
        if option.is_cut_off:
            message = f"--{option.name} needs a value, and has none"
            yield ScriptFinding(option.place, message, "write the value behind it, in its line")
        elif option.value.startswith("="):
            message = f"the value of --{option.name} begins with '='"
            yield ScriptFinding(option.place, message, f"write --{option.name}=VALUE, no blanks")
        elif known.argument(program) == "none" and option.value:
            message = f"--{option.name} takes no value, but has '{option.value}'"
            yield ScriptFinding(option.place, message, f"write --{option.name} alone")
        elif wanted := refusal(known, option.value):
            message = f"{program} cannot read '{option.value}' as --{option.name}"
            yield ScriptFinding(option.place, message, f"write {wanted}")


@OPTIONS.rule(
    "JOB-009",
    "Options do not contradict each other",
    why="sbatch refuses a job whose options cannot all be met: two kinds of memory, GPUs for each "
    "of no tasks, or a deadline before the job's time is over.",
    fix="leave one of them out",
    source=SBATCH,
)
def _options_agree(script: Script) -> Iterator[ScriptFinding]:
    for names in EXCLUDING:
        given = [option for name in names if (option := script.option(name))]
        for option in given[1:]:
            message = f"--{option.name} and --{given[0].name} exclude each other"
            yield ScriptFinding(option.place, message)
    yield from _gpus_are_asked_for_once(script)
    for name, needed in NEEDED.items():
        option = script.option(name)
        says_something = option and not SAYS_NOTHING.fullmatch(option.value)
        if option and says_something and not any(_says(script, each) for each in needed):
            wanted = " or ".join(f"--{each}" for each in needed)
            message = f"--{name} says nothing without {wanted}"
            yield ScriptFinding(option.place, message, f"add {wanted}")
    yield from _tasks_are_even(script)
    yield from _threads_are_enough(script)
    yield from _planes_are_filled(script)
    yield from _gpus_agree(script)
    yield from _nodes_are_listed(script)
    yield from _time_is_enough(script)


def _gpus_are_asked_for_once(script: Script) -> Iterator[ScriptFinding]:
    option, gres = script.option("gpus-per-node"), script.option("gres")
    if option and gres and script.slurm >= ONE_NUMBER_OF_GPUS and OF_GPUS.search(gres.value):
        message = f"--{gres.name}={gres.value} and --{option.name} exclude each other"
        yield ScriptFinding(gres.place, message)


def _tasks_are_even(script: Script) -> Iterator[ScriptFinding]:
    """Yield a number of tasks that no whole number of GPUs gives."""
    numbers = {option: int(option.value) for option in _readable(script, *OF_TASKS_AND_GPUS)}
    if len(set(numbers.values())) > 1:
        yield ScriptFinding([*numbers][-1].place, "--ntasks-per-gpu and --ntasks-per-tres differ")
    if any(_says(script, name) for name in GPUS_OF_JOB):
        return
    for tasks, (option, each) in product(_readable(script, "ntasks"), numbers.items()):
        if int(tasks.value) > each and int(tasks.value) % each:
            message = f"--ntasks={tasks.value} is no multiple of --{option.name}={each}"
            yield ScriptFinding(tasks.place, message)


def _threads_are_enough(script: Script) -> Iterator[ScriptFinding]:
    most = hardware_of(script).threads_per_core
    for option in _readable(script, "ntasks-per-core"):
        if most and int(option.value) > most:
            message = f"--ntasks-per-core={option.value} is more than {most} threads per core"
            yield ScriptFinding(option.place, message)


def _planes_are_filled(script: Script) -> Iterator[ScriptFinding]:
    """Yield a distribution that leaves nodes without tasks; without --ntasks there is one task."""
    option, nodes = script.option("distribution"), script.fewest_nodes or 0
    size = PLANE.fullmatch(option.value) if option else None
    tasks = next((int(each.value) for each in _readable(script, "ntasks")), 1)
    if option and size and tasks // int(size[1]) < nodes and (nodes - 1) * int(size[1]) >= tasks:
        message = f"{tasks} tasks in planes of {size[1]} do not reach {nodes} nodes"
        yield ScriptFinding(option.place, message)


def _gpus_agree(script: Script) -> Iterator[ScriptFinding]:
    """Yield a number of GPUs of the whole job that its nodes or its tasks cannot share evenly."""
    option, demand = script.option("gpus"), demand_of(script)
    if not option or not demand.gpus:
        return
    fewest, most = demand.fewest_nodes or 1, demand.most_nodes or math.inf
    nodes = demand.gpus // demand.gpus_per_node if demand.gpus_per_node else 0
    tasks = demand.tasks or demand.gpus // (demand.gpus_per_task or 1)
    counts = {
        "--nodes": fewest <= demand.gpus and (not nodes or fewest <= nodes <= most),
        "--gpus-per-node": demand.gpus % (demand.gpus_per_node or 1) == 0,
        "--gpus-per-task": demand.gpus_per_task in (0, demand.gpus / (tasks or 1)),
    }
    for name in (name for name, agrees in counts.items() if not agrees):
        yield ScriptFinding(option.place, f"--gpus={option.value} does not go with {name}")


def _nodes_are_listed(script: Script) -> Iterator[ScriptFinding]:
    option, nodes = script.option("distribution"), script.option("nodes")
    if not option or not option.value.lower().startswith("arbitrary"):
        return
    if nodes:
        message = "--nodes and --distribution=arbitrary exclude each other"
        yield ScriptFinding(nodes.place, message)
    elif not script.option("nodelist") and not script.option("nodefile"):
        message = "--distribution=arbitrary says nothing without --nodelist"
        yield ScriptFinding(option.place, message, "remove it: Slurm then chooses the nodes")


def _time_is_enough(script: Script) -> Iterator[ScriptFinding]:
    time, shortest = script.option("time"), script.option("time-min")
    least = _minutes(shortest) if shortest else _minutes(time)
    longest = _minutes(time)
    if shortest and (is_unlimited(shortest.value) or not shortest.value.strip("0:-")):
        message = f"--time-min={shortest.value} is no time in which a job could end"
        yield ScriptFinding(shortest.place, message)
    if shortest and longest and least and least > longest:
        message = f"--time-min={shortest.value} is more than --time"
        yield ScriptFinding(shortest.place, message)
    deadline, begin = script.option("deadline"), script.option("begin")
    until, start = at_most_minutes_from_now(deadline), at_least_minutes_from_now(begin)
    if deadline and until is not None and start + (least or 0) > until:
        takes = f"it takes {least:g} minutes" if least else "it begins later"
        takes = takes if until >= 0 else "that is over"
        message = f"the job cannot end by --deadline={deadline.value}: {takes}"
        fix = "set the deadline later, or ask for less time"
        yield ScriptFinding(deadline.place, f'{message} ("Requested time limit is invalid")', fix)


def _all_options(script: Script) -> Iterator[tuple[Program, Option]]:
    for option in script.options:
        yield "sbatch", option
    for step in script.steps:
        for option in step.options:
            yield "srun", option


def _says(script: Script, name: str) -> bool:
    """Return whether an option is there and asks for something; of nodes, for a certain number."""
    if name in (ALL_PARTS, SOCKETS):
        said = hardware_of(script)
        is_given = script.option(ALL_PARTS) is not None
        return is_given and (said.is_said if name == ALL_PARTS else said.sockets is not None)
    option = script.option(name)
    if not option or SAYS_NOTHING.fullmatch(option.value):
        return False
    least, _, most = option.value.partition("-")
    return name != "nodes" or (least.isdigit() and most in ("", least))


def _readable(script: Script, *names: str) -> list[Option]:
    """Return the options of these names whose numbers sbatch can read."""
    given = [option for name in names if (option := script.option(name))]
    known = options_of("sbatch")
    return [each for each in given if not refusal(known[each.name], each.value)]


def _minutes(option: Option | None) -> float | None:
    return minutes(option.value) if option else None
