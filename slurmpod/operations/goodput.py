"""The outcome of a cluster's node-hours: completed or lost work. Pure.

Slurm's records have the end of each run of a job, but not its steps: a training's own log has the
repeated, saving and waiting time (`slurmpod job metrics`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from slurmpod.aws.errors import AwsUnavailable

ENDED = "ended"
SECONDS_OF_AN_HOUR = 3600
SUM_BY_STATE = """'NF == 9 { sub(/ .*/, "", $7); n[$7] += $5 * $6 }
NF == 9 && $6 > 0 && $9 > begin && $8 ~ /^[0-9]+$/ { w[$7] += $5 * ($9 - $8) }
END { for (k in n) printf "%s|%.0f|%.0f\\n", k, n[k], w[k] }'"""
"""Adds up, for each state, nodes times seconds of running and of waiting since eligibility.

Leaves out the wait of runs that began before the period: Slurm shows a later begin for them.
"""


class Ending(StrEnum):
    """The outcome of a job's run, in the order in which it is shown."""

    COMPLETED = "completed"
    NODE_FAILURE = "lost to failed nodes"
    REQUEUED = "lost to requeues"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIME_LIMIT = "ended by a time limit"
    OPEN = "not ended"


ENDINGS = {
    "COMPLETED": Ending.COMPLETED,
    "NODE_FAIL": Ending.NODE_FAILURE,
    "BOOT_FAIL": Ending.NODE_FAILURE,
    "REQUEUED": Ending.REQUEUED,
    "PREEMPTED": Ending.REQUEUED,
    "FAILED": Ending.FAILED,
    "OUT_OF_MEMORY": Ending.FAILED,
    "CANCELLED": Ending.CANCELLED,
    "TIMEOUT": Ending.TIME_LIMIT,
    "DEADLINE": Ending.TIME_LIMIT,
}
"""Slurm's states of an ended run; any other state means that it continues."""


@dataclass(frozen=True)
class Goodput:
    """Node-hours by the outcome of their runs, and those of waiting for nodes."""

    node_hours: dict[Ending, float]
    waited_node_hours: float

    @property
    def ended(self) -> float:
        """The node-hours of all ended runs."""
        return sum(hours for end, hours in self.node_hours.items() if end is not Ending.OPEN)

    @property
    def share(self) -> float | None:
        """The share of completed runs in them; None if none has ended."""
        if not self.ended:
            return None
        return self.node_hours.get(Ending.COMPLETED, 0.0) / self.ended


def read_goodput(answer: str) -> Goodput:
    """Read the output of SUM_BY_STATE.

    Raises:
        AwsUnavailable: a line is not a sum.
    """
    hours = dict.fromkeys(Ending, 0.0)
    waited = 0.0
    for line in filter(None, answer.splitlines()):
        state, *sums = line.split("|")
        if len(sums) != 2 or not all(each.isdecimal() for each in sums):
            raise AwsUnavailable(f"Slurm's records cannot be read: {line}")
        hours[ENDINGS.get(state, Ending.OPEN)] += int(sums[0]) / SECONDS_OF_AN_HOUR
        waited += int(sums[1]) / SECONDS_OF_AN_HOUR
    return Goodput({end: each for end, each in hours.items() if each}, waited)
