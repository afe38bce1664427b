"""Findings of checks, and their table for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """The consequence of a finding."""

    GOOD = "good"
    REPORTED = "reported"
    """An administrator should look at it, but jobs continue: other nodes may have it too."""

    BAD = "bad"
    """This node's own fault: it accepts no more jobs."""


@dataclass(frozen=True)
class Finding:
    """The result of one check; `detail` is short enough for a drain reason in Slurm."""

    check: str
    verdict: Verdict
    detail: str


def table(findings: Sequence[Finding]) -> str:
    """Return one line per check: its name, the verdict and the detail."""
    widest = max((len(finding.check) for finding in findings), default=0)
    lines = [
        f"{finding.check:<{widest}}  {finding.verdict.value:<8}  {finding.detail}"
        for finding in findings
    ]
    return "".join(f"{line}\n" for line in lines)


def reason(findings: Sequence[Finding]) -> str:
    """Return why the node cannot run jobs, or an empty text if it can."""
    return "; ".join(finding.detail for finding in findings if finding.verdict is Verdict.BAD)
