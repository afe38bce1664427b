"""Rules for options of sbatch and srun: their names, their values, and what they say together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.environment.suggestion import did_you_mean
from slurmpod.jobs.calls import Option
from slurmpod.jobs.options import (
    NEWEST,
    Program,
    full_names,
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
)
"""Options of which sbatch takes one only."""

ANY_GPUS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres")
NEEDED = {
    "gpus-per-task": ("ntasks", "gpus"),
    "gpus-per-socket": ("sockets-per-node",),
    "cpus-per-gpu": ANY_GPUS,
    "mem-per-gpu": ANY_GPUS,
}
"""Options that sbatch takes only with one of these beside them."""

FROM_NOW = re.compile(r"now\s*\+\s*([0-9]{1,9})\s*(?:(sec|min|hour|day|week)[a-z]*)?", re.ASCII)
MINUTES = {"": 1 / 60, "sec": 1 / 60, "min": 1, "hour": 60, "day": 1440, "week": 10080}


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
        if known and known.since > NEWEST:
            message = f"{program} knows --{option.name} from Slurm {known.since} on"
            yield ScriptFinding(option.place, message, "remove it")
        if known or option.name == "auto-resume":
            continue
        dashes = "-" if len(option.name) == 1 else "--"
        message = f"{program} has no option {dashes}{option.name}"
        if meant:
            message = f"--{option.name} is ambiguous: it begins {', '.join(meant)}"
        yield ScriptFinding(option.place, message, did_you_mean(option.name, options_of(program)))


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
        if option.value.startswith("="):
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
    for name, needed in NEEDED.items():
        option = script.option(name)
        if option and not any(script.option(each) for each in needed):
            wanted = " or ".join(f"--{each}" for each in needed)
            message = f"--{name} says nothing without {wanted}"
            yield ScriptFinding(option.place, message, f"add {wanted}")
    yield from _time_is_enough(script)


def _time_is_enough(script: Script) -> Iterator[ScriptFinding]:
    time, shortest = script.option("time"), script.option("time-min")
    least = _minutes(shortest) if shortest else _minutes(time)
    longest = _minutes(time)
    if shortest and longest and least and least > longest:
        message = f"--time-min={shortest.value} is more than --time"
        yield ScriptFinding(shortest.place, message)
    deadline, begin = script.option("deadline"), script.option("begin")
    until, start = _minutes_from_now(deadline), _minutes_from_now(begin) or 0
    if deadline and until is not None and start + (least or 0) > until:
        takes = f"it takes {least:g} minutes" if least else "it begins later"
        message = f"the job cannot end by --deadline={deadline.value}: {takes}"
        fix = "set the deadline later, or ask for less time"
        yield ScriptFinding(deadline.place, f'{message} ("Requested time limit is invalid")', fix)


def _all_options(script: Script) -> Iterator[tuple[Program, Option]]:
    for option in script.options:
        yield "sbatch", option
    for step in script.steps:
        for option in step.options:
            yield "srun", option


def _minutes(option: Option | None) -> float | None:
    return minutes(option.value) if option else None


def _minutes_from_now(option: Option | None) -> float | None:
    """Return when a moment such as now+2hours is; None for a time of day, or a date."""
    match = FROM_NOW.fullmatch(option.value) if option else None
    return int(match[1]) * MINUTES[match[2] or ""] if match else None
