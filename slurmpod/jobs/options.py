"""Every option of sbatch and srun, and the values that they take.

`data/slurm_options.csv` has the options of Slurm 24.11.5, also those that its help leaves out, the
options of NVIDIA's pyxis, and --auto-resume, which HyperPod adds to srun. The table and the values
that are refused here are what sbatch and srun themselves said when they were called. Options that
are newer come from Slurm's CHANGELOG.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

from slurmpod.value import Value

NEWEST = "25.11"
"""The newest Slurm that HyperPod has."""

Program = Literal["sbatch", "srun"]
Argument = Literal["", "none", "optional", "required"]

DURATION = re.compile(
    r"(?:([0-9]{1,6})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?", re.ASCII
)
NO_LIMIT = frozenset({"-1", "infinite", "unlimited"})
MEMORY = re.compile(r"([0-9]{1,18})([kmgt]?)b?", re.ASCII | re.IGNORECASE)
NODES = re.compile(
    r"-?[0-9]{1,9}[km]?(?:(?:[-,][0-9]{1,9}[km]?)+(?::[0-9]+)?)?", re.ASCII | re.IGNORECASE
)
RANGE = r"[0-9]{1,9}(?:-[0-9]{0,9}(?::0*[1-9][0-9]*)?)?"
NODE_RANGE = re.compile(r"([0-9]{1,9})([km]?)(?:-([0-9]{1,9})([km]?))?", re.ASCII | re.IGNORECASE)
MANY = {"": 1, "k": 1024, "m": 1024**2}
ARRAY = re.compile(rf"\[?,*(?:{RANGE}(?:,+{RANGE})*,*)?(?:%[0-9]*(?:,[0-9,-]*)?)?\]?", re.ASCII)
SIGNAL = re.compile(
    r"(?:[BR]+:)?(?:(?:SIG)?(?:HUP|INT|QUIT|ABRT|KILL|ALRM|TERM|USR1|USR2|URG|CONT|STOP|TSTP|TTIN"
    r"|TTOU|PIPE|XCPU)|0*[1-9][0-9]*)(?:@([0-9]{0,9}))?",
    re.ASCII | re.IGNORECASE,
)
LONGEST_WARNING = 65535
"""Seconds before the end at which a job can have a signal (sbatch(1), --signal)."""

WHEN = re.compile(
    r"""
    now (?: \s*[+-]\s* [0-9]+ \s* (?: sec(?:ond)?s? | min(?:ute)?s? | hours? | days? | weeks? )? )?
    | (?: today | tomorrow | midnight | noon | elevenses | fika | teatime )
    | (?: [01]?[0-9] | 2[0-3] ) : [0-5][0-9] (?: :[0-5][0-9] )? (?: \s*[ap]m )?
    | (?: 2[01][0-9] | 19[89] ) [0-9] - (?: 0?[1-9] | 1[0-2] ) - [0-3]?[0-9] (?: [T\ ] .* )?
    | (?: [0-9]{6} | [0-9]{1,2} [/.] [0-9]{1,2} (?: [/.] [0-9]{2,4} )? ) (?: [-\ ] .* )?
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
JOBS = r":[0-9]+(?:_(?:[0-9]+|\*))?(?:\+[0-9]+)?"
AFTER = (
    rf"(?:(?:after|afterany|afternotok|afterok|aftercorr|afterburstbuffer|expand)(?:{JOBS})+"
    r"|singleton|[0-9]+)"
)
DEPENDENCY = re.compile(rf"(?:{AFTER}(?:[,?]{AFTER})*)?", re.ASCII | re.IGNORECASE)


NEWS = "none|begin|end|fail|requeue|all|invalid_depend|stage_out|array_tasks"
MAIL = rf"(?:{NEWS}|time_limit(?:_[589]0)?)"
MAILS = re.compile(rf",*{MAIL}(?:,+{MAIL})*,*", re.ASCII | re.IGNORECASE)
DISTRIBUTION = re.compile(
    r"""
    plane=[0-9]+
    | (?: arbitrary | (?: block | cyclic | \* ) (?: :(?: block | cyclic | fcyclic | \* ) ){0,2} )
      (?: , (?:no)?pack )?
    | (?:no)?pack
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)


class KnownOption(Value):
    """One option: how the two programs take a value for it; "" for one that lacks the option.

    `since` is the version of Slurm that brought it, where that is newer than 24.11.
    """

    name: str
    short: str
    sbatch: Argument
    srun: Argument
    of: str
    kind: str
    words: tuple[str, ...]
    since: str

    def argument(self, program: Program) -> Argument:
        """Return how a program takes a value for the option."""
        return self.sbatch if program == "sbatch" else self.srun


@cache
def known_options() -> Mapping[str, KnownOption]:
    """Return every option by its long name."""
    file = Path(__file__).parents[1] / "data" / "slurm_options.csv"
    with file.open(encoding="utf-8") as rows:
        options = [_known_option(row) for row in csv.DictReader(rows)]
    return MappingProxyType({option.name: option for option in options})


@cache
def options_of(program: Program) -> Mapping[str, KnownOption]:
    """Return the options that one program has, by their long names."""
    known = known_options().items()
    return MappingProxyType({name: option for name, option in known if option.argument(program)})


@cache
def short_names(program: Program) -> Mapping[str, str]:
    """Return the long names of a program's options by their letters."""
    return MappingProxyType(
        {option.short: name for name, option in options_of(program).items() if option.short}
    )


@cache
def flags(program: Program) -> frozenset[str]:
    """Return the options that take no value, or one behind `=` only."""
    options = options_of(program).values()
    return frozenset(each.name for each in options if each.argument(program) != "required")


def full_names(name: str, program: Program) -> tuple[str, ...]:
    """Return what a name may stand for: getopt_long(3) takes any beginning that fits one option."""
    options = options_of(program)
    if name in options:
        return (name,)
    return tuple(each for each in options if name and each.startswith(name))


def refusal(option: KnownOption, value: str) -> str:
    """Return the expected form if Slurm refuses this value; "" for a valid one."""
    if option.kind == "choice":
        is_sound = value.lower() in option.words or (not value and option.name == "exclusive")
        return "" if is_sound else f"one of {', '.join(option.words)}"
    if option.kind not in KINDS:
        return ""
    reads, wanted = KINDS[option.kind]
    return "" if reads(value) else wanted


def is_unlimited(text: str) -> bool:
    """Return whether a `--time` asks for no limit at all."""
    return text.lower() in NO_LIMIT


def minutes(text: str) -> float | None:
    """Return the minutes of `--time`; None for no limit, and for what Slurm would refuse.

    `90`, `90:00`, `1:30:00`, `1-0`, `1-0:30` and `1-0:30:00` are understood (sbatch(1), --time).
    """
    match = DURATION.fullmatch(text)
    if not match or text == "0":
        return None
    days, *rest = match.groups()
    first, second, third = (int(part or 0) for part in rest)
    if days is not None:
        return int(days) * 1440 + first * 60 + second + third / 60
    if rest[2] is not None:
        return first * 60 + second + third / 60
    return first + second / 60


def mebibytes(text: str) -> float | None:
    """Return the MiB of `--mem`; None for what Slurm would refuse."""
    match = MEMORY.fullmatch(text)
    if not match:
        return None
    return int(match[1]) * {"k": 1 / 1024, "": 1, "m": 1, "g": 1024, "t": 1024**2}[match[2].lower()]


def node_counts(text: str) -> tuple[int, int] | None:
    """Return the least and the most in `--nodes=2-4`, `2` or `1k`; None for anything else."""
    match = NODE_RANGE.fullmatch(text)
    if not match:
        return None
    least, unit, most, unit_of_most = match.groups()
    first = int(least) * MANY[unit.lower()]
    return first, int(most) * MANY[unit_of_most.lower()] if most else first


def _known_option(row: dict[str, str]) -> KnownOption:
    return KnownOption(
        name=row["name"],
        short=row["short"],
        sbatch=cast("Argument", row["sbatch"]),
        srun=cast("Argument", row["srun"]),
        of=row["of"],
        kind=row["kind"],
        words=tuple(row["words"].split()),
        since=row["since"],
    )


def _is_time(value: str) -> bool:
    match = DURATION.fullmatch(value.removesuffix("-") if value[:-1].isdigit() else value)
    return is_unlimited(value) or bool(match)


def _is_signal(value: str) -> bool:
    match = SIGNAL.fullmatch(value)
    return match is not None and int(match[1] or 0) <= LONGEST_WARNING


def _is_node_count(value: str) -> bool:
    if not NODES.fullmatch(value):
        return False
    least, most = node_counts(value) or (0, 0)
    return least <= most


def _is_array(value: str) -> bool:
    if value and not ARRAY.fullmatch(value):
        return False
    ranges = re.findall(r"([0-9]+)-([0-9]*)", value.partition("%")[0])
    return all(int(first) <= int(last or 0) for first, last in ranges)


GPUS_OF_NO_NUMBER = re.compile(r"[^:]*:[^0-9]*", re.ASCII)
"""A type of GPUs without a number behind the colon."""

KINDS: Mapping[str, tuple[Callable[[str], object], str]] = MappingProxyType(
    {
        "positive": (re.compile(r"\s*\+?0*[1-9][0-9]*", re.ASCII).fullmatch, "a number from 1"),
        "whole": (re.compile(r"\s*\+?[0-9]+", re.ASCII).fullmatch, "a number"),
        "time": (_is_time, "minutes, hours:minutes:seconds or days-hours:minutes:seconds"),
        "memory": (MEMORY.fullmatch, "a number with K, M, G or T behind it, such as 64G"),
        "nodes": (_is_node_count, "a number, or a range such as 2-4"),
        "moment": (WHEN.fullmatch, "a moment such as 16:00, 2027-01-31T16:00 or now+2hours"),
        "array": (_is_array, "indices such as 0-9, 1,3,5 or 0-99%10"),
        "dependency": (DEPENDENCY.fullmatch, "a condition and ids of jobs, such as afterok:123"),
        "mail": (MAILS.fullmatch, "some of BEGIN, END, FAIL, REQUEUE, ALL, with commas"),
        "distribution": (DISTRIBUTION.fullmatch, "block, cyclic, plane=N, or such as block:cyclic"),
        "gpus": (lambda value: not GPUS_OF_NO_NUMBER.fullmatch(value), "a number, or type:number"),
        "signal": (_is_signal, "a signal, such as USR1@60 or B:TERM@120"),
    }
)
"""The check of each kind of value, and its description."""
