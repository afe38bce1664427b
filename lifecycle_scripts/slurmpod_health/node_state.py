"""A node as `scontrol --oneliner show node` prints it; used by all programs on nodes.

It imports no other file of ours, so that a timer's program can have it in its own folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PREFIX = "slurmpod: "
"""The prefix of the reasons of all our drains."""

CHECK = "check: "
"""The rest of the prefix for a fault found by a check of idle nodes, which the health checks cannot
see."""

HELD = frozenset({"DRAIN", "DOWN", "FAIL", "FAILING"})

_REASON = re.compile(r"(?:^|\s)Reason=(.*) \[[^][@]*@([^][]*)\](?=\s|$)")


@dataclass(frozen=True)
class NodeState:
    """A node in Slurm; `text` is its state as printed, `words` are its parts.

    `since` is when the reason was set, `boot` when the node booted and `started` when its slurmd
    did, in Slurm's time format; empty for what has not happened.
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
        """Whether the node is in service: not drained, down or failed."""
        return not self.words & HELD

    @property
    def is_drained_by_us(self) -> bool:
        """Whether the health checks or the checks of idle nodes drained it."""
        return "DRAIN" in self.words and self.reason.startswith(PREFIX)

    @property
    def is_drained_by_check(self) -> bool:
        """Whether the checks of idle nodes drained it."""
        return self.is_drained_by_us and self.reason.startswith(f"{PREFIX}{CHECK}")

    @property
    def is_drained_by_health(self) -> bool:
        """Whether the health checks drained it; they undo no other drain."""
        return self.is_drained_by_us and not self.is_drained_by_check


def read_state(line: str) -> NodeState | None:
    """Read the line of a node; return None for a line without a state."""
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
