"""Findings of checks, also as administrators see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What follows from a finding."""

    GOOD = "good"
    REPORTED = "reported"
    """Somebody should look at it, but jobs go on: other nodes may well have it, too."""

    BAD = "bad"
    """This node's own fault: it takes no more jobs."""


@dataclass(frozen=True)
class Finding:
    """The result of one check; `detail` is short enough for the reason of a node in Slurm."""

    check: str
    verdict: Verdict
    detail: str


def table(findings: Sequence[Finding]) -> str:
    """Return one line per check: what was checked, the verdict, and the detail."""
    widest = max((len(finding.check) for finding in findings), default=0)
    lines = [
        f"{finding.check:<{widest}}  {finding.verdict.value:<8}  {finding.detail}"
        for finding in findings
    ]
    return "".join(f"{line}\n" for line in lines)


def reason(findings: Sequence[Finding]) -> str:
    """Return why the node cannot run jobs; empty for one that can."""
    return "; ".join(finding.detail for finding in findings if finding.verdict is Verdict.BAD)
