"""GPUs that jobs hold, from `scontrol --details show job`; the only parser of it. Pure."""

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
"""Keeps only the lines with GPUs; scontrol also prints a line when it has no jobs to show."""

_HELD = re.compile(
    r"JobId=(?P<job>\d+)"
    r"(?: ArrayJobId=(?P<array>\d+) ArrayTaskId=(?P<task>\d+)"
    r"| HetJobId=(?P<het>\d+) HetJobOffset=(?P<offset>\d+))?"
    r"(?: .*)?\| +Nodes=(?P<nodes>\S+) CPU_IDs=\S* Mem=\d+ GRES=(?P<gres>\S+)"
)
_GPUS = re.compile(r"(?:^|,)gpu(?::[^:(,]+)?:\d+\(IDX:([\d,-]+)\)")


@dataclass(frozen=True)
class HeldGpus:
    """GPUs of one job with the same indices on several nodes, such as 0-3,7.

    `job` is its id as squeue shows it, `nodes` a hostlist.
    """

    job: str
    nodes: str
    numbers: str

    @property
    def count(self) -> int:
        """The number of GPUs on all nodes."""
        return len(expanded(self.nodes)) * len(expanded(f"[{self.numbers}]"))


def held() -> str:
    """Return the command whose output `read_held` parses."""
    return f"scontrol --all --details show job 2>/dev/null | awk '{_AWK}'"


def read_held(printed: str) -> tuple[HeldGpus, ...] | None:
    """Return the GPUs that jobs hold, None if Slurm did not answer; skip other lines."""
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
