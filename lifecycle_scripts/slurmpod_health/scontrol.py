"""Slurm's own command, within the time that one run of the checks has for it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from slurmpod_health.probe import ProbeTimedOut, probe

PROGRAM = "/opt/slurm/bin/scontrol"
SECONDS = 3.0
"""How long one call may take."""

SECONDS_OF_ALL = 12.0
"""How long all calls of a run may take together.

The slowest checks before them take 4 s, which makes 16 s; the program around both is ended after
20 s, as a job that starts waits for it. What is left is for Python to start on a slow node.
"""


@dataclass(frozen=True)
class Scontrol:
    """What one run asks of Slurm, up to a moment of the monotonic clock, in seconds."""

    deadline: float

    @classmethod
    def starting_now(cls) -> Scontrol:
        """Give the calls of a run their time."""
        return cls(time.monotonic() + SECONDS_OF_ALL)

    def __call__(self, *words: str) -> str:
        """Return what scontrol printed; raises ProbeFailed, also when the time is over."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise ProbeTimedOut(f"no answers within {SECONDS_OF_ALL:g} s")
        return probe(PROGRAM, *words, seconds=min(SECONDS, left))
