"""How the node-hours of a cluster ended: in what completed, or in what was lost. Pure.

Slurm's records tell how each run of a job ended, and nothing of the steps within it: what a
training repeated, saved or waited for is in its own log (`slurmpod job metrics`).
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
"""Adds up, for each state, nodes times seconds that ran and that waited since they could begin.

What began before the time that is asked for has its wait left out: Slurm shows a later begin.
"""


class Ending(StrEnum):
    """How a run of a job ended, in the order in which it is shown."""

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
"""Slurm's states of a run that is over; any other is of one that goes on."""


@dataclass(frozen=True)
class Goodput:
    """Node-hours by how their runs ended, and those for which the nodes asked for were awaited."""

    node_hours: dict[Ending, float]
    waited_node_hours: float

    @property
    def ended(self) -> float:
        """The node-hours of all runs that are over."""
        return sum(hours for end, hours in self.node_hours.items() if end is not Ending.OPEN)

    @property
    def share(self) -> float | None:
        """The share of them in runs that completed; None where none is over."""
        if not self.ended:
            return None
        return self.node_hours.get(Ending.COMPLETED, 0.0) / self.ended


def read_goodput(answer: str) -> Goodput:
    """Read what SUM_BY_STATE printed.

    Raises:
        AwsUnavailable: a line is no sum of a state.
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
