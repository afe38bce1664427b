"""What a check has found."""

from __future__ import annotations

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
