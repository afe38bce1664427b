"""A node as `scontrol --oneliner show node` shows it: read here for all programs on nodes.

It needs no other file of ours, so that a program of a timer can have it beside itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PREFIX = "slurmpod: "
"""How the reasons of all our drains begin."""

CHECK = "check: "
"""What follows where a check of idle nodes has found a fault; the health checks cannot see it."""

HELD = frozenset({"DRAIN", "DOWN", "FAIL", "FAILING"})

_REASON = re.compile(r"(?:^|\s)Reason=(.*) \[[^][@]*@([^][]*)\](?=\s|$)")


@dataclass(frozen=True)
class NodeState:
    """A node in Slurm; `text` is its state as it is written, `words` what it is made of.

    `since` is when the reason was given, `boot` when the node booted and `started` when its slurmd
    did: as Slurm writes times, empty for what has not happened.
    """

    name: str
    text: str
    words: frozenset[str]
    reason: str
    since: str
    boot: str
    started: str
    partitions: frozenset[str]

    @property
    def takes_jobs(self) -> bool:
        """Whether nobody has taken the node out of service."""
        return not self.words & HELD

    @property
    def is_drained_by_us(self) -> bool:
        """Whether it is the health checks that have, or the checks of idle nodes."""
        return "DRAIN" in self.words and self.reason.startswith(PREFIX)

    @property
    def is_drained_by_check(self) -> bool:
        """Whether it is the checks of idle nodes that have."""
        return self.is_drained_by_us and self.reason.startswith(f"{PREFIX}{CHECK}")

    @property
    def is_drained_by_health(self) -> bool:
        """Whether it is the health checks that have: they take back no other drain."""
        return self.is_drained_by_us and not self.is_drained_by_check


def read_state(line: str) -> NodeState | None:
    """Read the line of a node; None for one that says no state."""
    text = _value(line, "State")
    if not text:
        return None
    given = _REASON.search(line)
    return NodeState(
        name=_value(line, "NodeName"),
        text=text,
        words=frozenset(text.replace("*", "+NOT_RESPONDING").split("+")),
        reason=given[1] if given else _value(line, "Reason"),
        since=given[2] if given else "",
        boot=_time(line, "BootTime"),
        started=_time(line, "SlurmdStartTime"),
        partitions=frozenset(filter(None, _value(line, "Partitions").split(","))),
    )


def _value(line: str, name: str) -> str:
    found = re.search(rf"(?:^|\s){name}=(.*?)(?=\s+\w[\w:/.]*=|\s*$)", line)
    return "" if not found or found[1] in ("(null)", "None") else found[1]


def _time(line: str, name: str) -> str:
    value = _value(line, name)
    return value if value[:1].isdecimal() else ""
