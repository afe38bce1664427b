"""Logs on a node within a period: the command that prints them, and reading its output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from slurmpod.operations.logs.redaction import redacted
from slurmpod.operations.questions import as_root, question
from slurmpod.operations.why.node_lines import moment_of, zone_of

MOST_LINES = 2000
"""The most lines of one log of one node, the newest: sessions are too slow for gigabytes."""

SLURM_LOGS = ("slurmctld", "slurmd", "slurmdbd")


class Kind(StrEnum):
    """The subject of a log."""

    LIFECYCLE = "lifecycle"
    SLURM = "slurm"
    SYSTEM = "system"
    AUDIT = "audit"


@dataclass(frozen=True)
class Line:
    """A line of a log; a line without a timestamp has that of the line before."""

    time: datetime
    node: str
    log: str
    text: str


def node_command(kinds: Collection[Kind], since: datetime, until: datetime) -> str:
    """Return the command that prints a node's logs of some kinds; read-only."""
    begin, end = int(since.timestamp()), int(until.timestamp()) + 1  # include the current second
    script = question("zone", "date +%z")
    script += f"s=$(date -d @{begin} +[%Y-%m-%dT%H:%M:%S) u=$(date -d @{end} +[%Y-%m-%dT%H:%M:%S)\n"
    if Kind.SLURM in kinds:
        script += "".join(question(log, _slurm_log(log)) for log in SLURM_LOGS)
    if Kind.SYSTEM in kinds:
        script += question("journal", _journal(begin, end))
    if Kind.AUDIT in kinds:
        script += question("audit", _journal(begin, end, "-t sudo -t sshd -t su"))
    return as_root(script)


def read_lines(answers: Mapping[str, str], node: str) -> Iterator[Line]:
    """Read the output of `node_command`, without secrets."""
    zone = zone_of(answers)
    for log in (*SLURM_LOGS, "journal", "audit"):
        time: datetime | None = None
        for text in redacted(answers.get(log, "").splitlines()):
            found = _TIME.match(text)
            time = (moment_of(found["time"], zone) if found else None) or time
            if time:
                yield Line(time, node, log, text[found.end() :] if found else text)


_TIME = re.compile(r"\[?(?P<time>\d{4}-\d\d-\d\dT[\d:.]+(?:[+-]\d\d:?\d\d|Z)?)\]? ")


def _slurm_log(log: str) -> str:
    """Print the lines from the first that is new enough to the last that is not too new."""
    file = f"/var/log/slurm/{log}.log"
    chosen = shlex.quote("/^\\[/ { on = ($0 >= s && $0 < u) } on")
    return f'[ -e {file} ] && awk -v s="$s" -v u="$u" {chosen} {file} | tail -n {MOST_LINES}; true'


def _journal(begin: int, end: int, which: str = "") -> str:
    time = f"--since @{begin} --until @{end}"
    return f"journalctl {time} {which} -q --no-pager -o short-iso 2>&1 | tail -n {MOST_LINES}"
