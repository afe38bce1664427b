"""The launch command of a script: its program, without nodes and processes. Pure."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from slurmpod.jobs.adoption import accelerate
from slurmpod.jobs.adoption.launchers import LAUNCHERS, of_launcher
from slurmpod.jobs.adoption.variables import kept_variables
from slurmpod.jobs.adoption.words import filled, unknown, values_of_script
from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.calls import SHELLS, Call, Values, calls
from slurmpod.jobs.script import Script
from slurmpod.jobs.training import is_named_training, trains
from slurmpod.value import Value

NAME = re.compile(r"[A-Za-z_][\w.+-]*")
PYTHON = re.compile(r"python[0-9.]*")
TORCHRUN = frozenset({"torchrun", "torch_run"})
MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch"})
FLAGS = frozenset({"standalone", "no-python", "run-path", "monitor-interval-flag"})
"""Options of torchrun without a value (torch.distributed.run, get_args_parser)."""

KEPT = frozenset({"role", "tee", "redirects", "log-dir", "local-ranks-filter", "logs-specs"})
"""Options of torchrun that do not set nodes or processes."""

OTHERS = {"gantry": "starts jobs of another scheduler"}
"""Launchers that torchrun cannot safely replace, and why."""

MODULES_OF_OTHERS = frozenset({*OTHERS, *LAUNCHERS, *accelerate.NAMES})
SHOWN = 60
"""Length of a command in messages."""

HARMLESS = frozenset(
    {"echo", "printf", "set", "export", "scontrol", "hostname", "srun", "head", "date", ":", "["}
    | {"cd", "shift", "read", "local", "wait", "exit", "bash", "sh", "source", "unset", "true"}
)
"""Programs for orientation, which the job does not need."""


class Launch(Value):
    """The command for `own-program`. `left_out` lists omitted parts of the original, and why."""

    words: tuple[str, ...]
    variables: Mapping[str, str]
    left_out: tuple[str, ...]


def launch_of_script(script: Script, given: Mapping[str, str]) -> Launch:
    """Return the launch command of a script, with the user's variables. Raises JobRefused."""
    values = values_of_script(script, given)
    found = [each for each in _calls(script) if trains(each, values)]
    named = [each for each in found if is_named_training(each, values)] or found
    if not named:
        raise JobRefused(
            f"no training is recognised in {script.file}",
            "write its command behind --, as it is started on one node",
        )
    call = named[-1]
    program, left_out = without_launcher(_words(call, values))
    variables, others = kept_variables(script, call, values)
    if open_ones := unknown(program):
        raise JobRefused(
            f"{script.file} does not say what {', '.join(open_ones)} is",
            "give each with --set NAME=VALUE (--set 1=VALUE for $1), or the command behind --",
        )
    notes = (*left_out, *others, *_other_trainings(named, values), *_not_started(script, call))
    return Launch(program, variables, tuple(dict.fromkeys(notes)))


def _words(call: Call, values: Values) -> tuple[str, ...]:
    return tuple(filled((call.program, *call.arguments), values))


def _other_trainings(named: Sequence[Call], values: Values) -> Iterator[str]:
    """Return notes on trainings other than the last one, such as those of other branches."""
    *others, last = (_words(each, values) for each in named)
    for words in dict.fromkeys(others):
        if words != last:
            yield f"{shlex.join(words)[:SHOWN]}: the original trains with this, too"


def _not_started(script: Script, launched: Call) -> Iterator[str]:
    """Return a note on other programs of the script, which the job does not run."""
    names = {each.name for each in _calls(script) if not trains(each, script.values)} - HARMLESS
    names.discard(launched.name)
    found = sorted(filter(NAME.fullmatch, names))
    if found:
        yield f"{', '.join(found)}: the original runs this, too; the job does not"


def without_launcher(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the program with its arguments, and the omitted options. Raises JobRefused."""
    name = words[0].rpartition("/")[2]
    if name in TORCHRUN:
        return _of_torchrun(words[1:])
    if name in LAUNCHERS:
        return of_launcher(name, words[1:])
    if name in accelerate.NAMES:
        return accelerate.of_accelerate(words[1:])
    if PYTHON.fullmatch(name):
        return _of_python(words[1:])
    if name.endswith(".py"):
        return tuple(words), ()
    why = OTHERS.get(name, "is not a known launcher")
    raise JobRefused(
        f"{name} {why}",
        "write the command behind --, for a program that takes RANK, WORLD_SIZE and LOCAL_RANK"
        " from its environment: -- python train.py ...",
    )


def _of_python(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    rest = deque(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        option = rest.popleft()
        if option in ("-W", "-X") and rest:
            rest.popleft()
    if len(rest) > 1 and rest[0] == "-m" and rest[1] in MODULES:
        return _of_torchrun(list(rest)[2:])
    if len(rest) > 1 and rest[0] == "-m" and rest[1].partition(".")[0] in MODULES_OF_OTHERS:
        return without_launcher([rest[1].partition(".")[0], *list(rest)[2:]])
    if not rest or rest[0] == "-c":
        raise JobRefused("python is given no program", "name a file, or a module behind -m")
    return tuple(rest), ()


def _of_torchrun(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    rest, kept, left_out = deque(words), list[str](), list[str]()
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "--module"):
        written = rest.popleft()
        name, equals, value = written.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not equals and name not in FLAGS and rest:
            value = rest.popleft()
        if name in KEPT:
            kept.append(f"--{name}={value}")
        else:
            left_out.append(f"--{name}{'=' * bool(value)}{value}: step.sh sets it")
    if not rest:
        raise JobRefused("torchrun is given no program", "name a file, or a module behind -m")
    if rest[0] == "--module":
        rest[0] = "-m"
    return (*kept, *rest), tuple(left_out)


def _calls(script: Script) -> Iterator[Call]:
    """Yield the programs that a script runs, in steps and in shells of steps, too."""
    for call in script.called:
        if call.name == "srun":
            continue
        yield call
        yield from _in_shell(call, script)
    for step in script.steps:
        for call in step.runs:
            yield call
            yield from _in_shell(call, script)
    for command in script.handed_on:
        yield from calls(command, script.values)


def _in_shell(call: Call, script: Script) -> Iterator[Call]:
    words = call.arguments
    start = next((index for index, word in enumerate(words) if word.text in SHELLS), len(words))
    yield from calls(words[start:], script.values)
