"""Results of each node over time, and the checks in progress: a file on the controller."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from slurmpod_health.finding import Finding, Verdict
from slurmpod_lifecycle.dataclass_json import from_json, to_json

FOLDER = Path("/var/lib/slurmpod/checks")
FILE = "nodes.json"
MOST_RESULTS = 30
"""The number of results kept per node; older ones are dropped."""


ALONE, IN_PAIR, IN_RING = "alone", "pair", "ring"
"""The subject of a result: one node, a pair, or all idle nodes of a group."""

RING_OF = "ring of "
"""The prefix of a ring's size in the partner field; no node name has spaces."""


def kind_of(nodes: Sequence[str]) -> str:
    """Return the kind of a check of these nodes."""
    return (ALONE, IN_PAIR, IN_RING)[min(len(nodes), 3) - 1]


@dataclass(frozen=True)
class Result:
    """One check's result for an instance.

    `partner` is the other node of a pair, or the size of a ring as text, or empty. `is_told` means
    that its fault was acted on.
    """

    at: int
    instance: str
    type: str
    partner: str
    findings: tuple[Finding, ...]
    numbers: Mapping[str, float]
    is_told: bool

    @property
    def kind(self) -> str:
        """The kind of the result: single, pair or ring."""
        if not self.partner:
            return ALONE
        return IN_RING if self.partner.startswith(RING_OF) else IN_PAIR

    @property
    def is_bad(self) -> bool:
        """Whether the check found a fault of the node itself."""
        return any(each.verdict is Verdict.BAD for each in self.findings)


@dataclass(frozen=True)
class NodeRecord:
    """A node's group and its results, newest last.

    `failed_at` is when a check last ended without a result, `wanted_at` when a user requested one.
    """

    group: str
    results: tuple[Result, ...] = ()
    failed_at: int = 0
    wanted_at: int = 0

    @property
    def pairs(self) -> tuple[Result, ...]:
        """The results of pairs."""
        return tuple(each for each in self.results if each.kind == IN_PAIR)

    def latest(self, kind: str) -> Result | None:
        """Return the newest result of the node alone, of a pair, or of a ring."""
        own = [each for each in self.results if each.kind == kind]
        return own[-1] if own else None

    @property
    def newest(self) -> tuple[Result, ...]:
        """The newest results: of the node alone, of a pair, and of a ring."""
        found = (self.latest(kind) for kind in (ALONE, IN_PAIR, IN_RING))
        return tuple(each for each in found if each)

    @property
    def is_bad(self) -> bool:
        """Whether the newest results show a fault of the node."""
        return any(each.is_bad for each in self.newest)

    @property
    def offences(self) -> int:
        """How often the node was found bad, on any instance."""
        return sum(each.is_bad for each in self.results)

    def with_result(self, result: Result) -> NodeRecord:
        """Return the record with one more result, without those that are too old."""
        return replace(self, results=(*self.results, result)[-MOST_RESULTS:])

    def faults(self, instance: str) -> int:
        """Return how often an instance was found bad."""
        return sum(each.is_bad for each in self.results if each.instance == instance)


@dataclass(frozen=True)
class CheckJob:
    """A job that checks one node, a pair or a ring; `began` is when it was submitted."""

    nodes: tuple[str, ...]
    began: int


@dataclass(frozen=True)
class State:
    """The whole state; `trouble` is why no checks can start, or empty."""

    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    jobs: Mapping[str, CheckJob] = field(default_factory=dict)
    replaced_at: int = 0
    trouble: str = ""
    at: int = 0


def load(folder: Path = FOLDER) -> State:
    """Read the file; if it is missing or of another version, return an empty state."""
    try:
        return from_json(State, json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return State()


def save(state: State, folder: Path = FOLDER) -> None:
    """Write the file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{FILE}"
    partial.write_text(json.dumps(to_json(state)), encoding="utf-8")
    os.replace(partial, folder / FILE)  # noqa: PTH105
