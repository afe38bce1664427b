"""GPUs that jobs hold, as `scontrol --details show job` tells them: read here alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.slurm.hostlist import expanded

_AWK = (
    '/^JobId=/ { job = $1 " " $2 " " $3 } '
    '/^ +Nodes=.*gpu.*[(]IDX:/ { print job "|" $0 } '
    'END { if (NR) print "all" }'
)
"""Leaves few of the lines; scontrol prints some where it has no jobs to show, too."""

_HELD = re.compile(
    r"JobId=(?P<job>\d+)"
    r"(?: ArrayJobId=(?P<array>\d+) ArrayTaskId=(?P<task>\d+)"
    r"| HetJobId=(?P<het>\d+) HetJobOffset=(?P<offset>\d+))?"
    r"(?: .*)?\| +Nodes=(?P<nodes>\S+) CPU_IDs=\S* Mem=\d+ GRES=(?P<gres>\S+)"
)
_GPUS = re.compile(r"(?:^|,)gpu(?::[^:(,]+)?:\d+\(IDX:([\d,-]+)\)")


@dataclass(frozen=True)
class HeldGpus:
    """The same GPUs of each of some nodes, by their numbers, such as 0-3,7; all a job's.

    `job` is its id as squeue shows it, `nodes` how Slurm writes their names.
    """

    job: str
    nodes: str
    numbers: str

    @property
    def count(self) -> int:
        """How many they are, on all nodes."""
        return len(expanded(self.nodes)) * len(expanded(f"[{self.numbers}]"))


def held() -> str:
    """Return the command whose lines `read_held` reads."""
    return f"scontrol --all --details show job 2>/dev/null | awk '{_AWK}'"


def read_held(printed: str) -> tuple[HeldGpus, ...] | None:
    """Return what jobs hold, None where Slurm did not tell; other lines are left out."""
    lines = printed.splitlines()
    return tuple(each for line in lines for each in _held(line)) if "all" in lines else None


def _held(line: str) -> Iterator[HeldGpus]:
    if found := _HELD.fullmatch(line):
        numbers = ",".join(_GPUS.findall(found["gres"]))
        if numbers:
            yield HeldGpus(_shown(found), found["nodes"], numbers)


def _shown(found: re.Match[str]) -> str:
    if found["array"]:
        return f"{found['array']}_{found['task']}"
    return f"{found['het']}+{found['offset']}" if found["het"] else found["job"]
