"""The variables of a launch script: those that the job keeps, and why it drops others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from slurmpod.jobs.adoption.words import filled_text, unknown
from slurmpod.jobs.calls import ASSIGNMENT, Call, Values, split
from slurmpod.jobs.script import Script
from slurmpod.jobs.shell import Word

OURS = re.compile(
    r"(?:FI|SLURM|SBATCH|GLOO|MASTER|RDZV|HOST|NODE|NNODES|WORLD|GPUS?_PER|RDMAV)(?:_|\w*$)"
    r"|NCCL_(?:SOCKET|IB|NET|PROTO|ALGO|CROSS|TUNER|BUFFSIZE)|(?:LD_LIBRARY_|PYTHON)?PATH$"
    r"|LD_PRELOAD$|(?:LOCAL_)?RANK$"
)
"""Variables that describe another cluster; here the step sets what is needed."""


def kept_variables(
    script: Script, launched: Call, values: Values
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return the variables of the program that are kept, and why others are not."""
    kept, left_out = dict[str, str](), list[str]()
    for word, is_certain in _settings(script, launched):
        name, _, written = word.text.partition("=")
        text = filled_text(written, values)
        if OURS.match(name):
            left_out.append(f"{name}: of another cluster; step.sh sets what is needed")
        elif not is_certain:
            left_out.append(f"{name}: set in a branch; give it with --env if you need it")
        elif unknown([text]):
            left_out.append(f"{name}: its value is not known before the job runs")
        else:
            kept[name] = text
    return kept, tuple(left_out)


def _settings(script: Script, launched: Call) -> Iterator[tuple[Word, bool]]:
    """Yield exported variables and those before the program; False if it may never be set."""
    for command in (*script.commands, *script.handed_on):
        before, _ = split(command)
        if command and command[0].text == "export":
            is_indented = command[0].place.column > 1 and command in script.commands
            yield from ((word, not is_indented) for word in command[1:] if _sets(word))
        elif launched.program.place in (word.place for word in command):
            yield from ((word, True) for word in before)


def _sets(word: Word) -> bool:
    return ASSIGNMENT.match(word.raw) is not None
