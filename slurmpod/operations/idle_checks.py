"""Checks of idle nodes, read from the controller: a summary, and the history of nodes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.questions import as_root, question

ROUND = "/usr/local/lib/slurmpod-checks/round.py"
"""Where the lifecycle scripts install the program."""

RING = "ring of "
"""Prefix of the partner of a node in a ring; see `slurmpod_checks`."""

OFFENCES = 2
"""From this many faults on a node counts as repeatedly bad; see `slurmpod_checks`."""

HISTORY, NEWEST = "history", "newest"
SECONDS = 20
NOT_THERE = (
    "the controller has no idle checks: its lifecycle scripts have not set them up yet "
    "(slurmpod lifecycle run)"
)


@dataclass(frozen=True)
class CheckSummary:
    """The summary of the last round: its time, the number of checks, and nodes that need attention.

    `offenders` are the repeatedly bad nodes, with the number of times.
    """

    at: datetime
    under_way: int
    checked: int
    bad: tuple[str, ...]
    offenders: Mapping[str, int]
    trouble: str


@dataclass(frozen=True)
class CheckResult:
    """One check of a node; `faults` are findings that are the node's own fault."""

    at: datetime
    instance: str
    partner: str
    numbers: Mapping[str, float]
    faults: tuple[str, ...]
    told: tuple[str, ...]

    @property
    def beside(self) -> str:
        """The partner of the node in the check, in words."""
        if self.partner.startswith(RING):
            return f"in a {self.partner}"
        return f"with {self.partner}" if self.partner else "alone"


@dataclass(frozen=True)
class CheckedNode:
    """A node's newest results of each kind; it was bad in `offences` of `checks`."""

    name: str
    group: str
    checks: int
    offences: int
    results: tuple[CheckResult, ...]

    @property
    def is_bad(self) -> bool:
        """Whether the newest results say that the node is at fault."""
        return any(each.faults for each in self.results)


@dataclass(frozen=True)
class CheckedNodes:
    """Checked nodes, the worst first; `more` is the number of nodes left out."""

    nodes: tuple[CheckedNode, ...]
    more: int

    @property
    def offenders(self) -> tuple[CheckedNode, ...]:
        """The repeatedly bad nodes."""
        return tuple(each for each in self.nodes if each.offences >= OFFENCES)


def summary_command() -> str:
    """Return the command that prints the summary on a controller, and nothing without checks."""
    return f"timeout {SECONDS} python3 -B {ROUND} --summary 2>/dev/null || true"


def read_summary(said: str) -> CheckSummary | None:
    """Read the output of `summary_command`; None without checks."""
    try:
        found = json.loads(said)
        return CheckSummary(
            at=_moment(found["at"]),
            under_way=int(found["under_way"]),
            checked=int(found["checked"]),
            bad=tuple(found["bad"]),
            offenders=dict(found["offenders"]),
            trouble=str(found["trouble"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def history_command(names: Sequence[str]) -> str:
    """Return the query to a controller for all results of nodes."""
    command = f"python3 -B {ROUND} --history {shlex.join(names)}"
    return question(HISTORY, f"timeout {SECONDS} {command} 2>&1 || true")


def read_history(answers: Mapping[str, str]) -> dict[str, tuple[CheckResult, ...]]:
    """Read the output of `history_command`, oldest first; raises AwsUnavailable."""
    try:
        found = json.loads(answers[HISTORY])
        return {name: tuple(map(_result, results)) for name, results in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise AwsUnavailable(NOT_THERE) from None


def newest_command() -> str:
    """Return the command for a controller that prints the newest results of nodes."""
    return as_root(question(NEWEST, f"timeout {SECONDS} python3 -B {ROUND} --newest 2>&1 || true"))


def read_newest(answer: str) -> CheckedNodes:
    """Read the output of `newest_command`; raises AwsUnavailable."""
    try:
        found = json.loads(answer)
        return CheckedNodes(tuple(map(_node, found["nodes"])), int(found["more"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise AwsUnavailable(NOT_THERE) from None


def _node(data: Mapping[str, Any]) -> CheckedNode:
    return CheckedNode(
        name=str(data["name"]),
        group=str(data["group"]),
        checks=int(data["checks"]),
        offences=int(data["offences"]),
        results=tuple(map(_result, data["results"])),
    )


def _result(data: Mapping[str, object]) -> CheckResult:
    findings, numbers = data["findings"], data["numbers"]
    if not isinstance(findings, list) or not isinstance(numbers, dict):
        raise TypeError
    return CheckResult(
        at=_moment(data["at"]),
        instance=str(data["instance"]),
        partner=str(data["partner"]),
        numbers=numbers,
        faults=tuple(each["detail"] for each in findings if each["verdict"] == "bad"),
        told=tuple(each["detail"] for each in findings if each["verdict"] == "reported"),
    )


def _moment(seconds: object) -> datetime:
    if not isinstance(seconds, int):
        raise TypeError
    return datetime.fromtimestamp(seconds, UTC)
