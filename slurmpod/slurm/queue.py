"""Jobs that have not ended, as squeue lists them: read here alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from slurmpod.slurm.hostlist import expanded

COLUMNS = "%i|%T|%u|%P|%D|%M|%e|%N|%r|%j"
"""The name comes last: it may hold whatever stands between columns."""

_COUNT = COLUMNS.count("|")
WITH_NODES = "RUNNING,SUSPENDED,COMPLETING,CONFIGURING,STOPPED"
"""The states in which a job has nodes, as --states takes them."""


@dataclass(frozen=True)
class QueuedJob:
    """A job; `nodes` is how Slurm writes their names, `reason` says why it waits.

    `ends` is its limit, None where it has none or squeue tells none.
    """

    id: str
    state: str
    user: str
    partition: str
    node_count: str
    elapsed: str
    ends: datetime | None
    nodes: str
    reason: str
    name: str

    @property
    def is_waiting(self) -> bool:
        """Return whether it has no nodes yet."""
        return self.state == "PENDING"

    @property
    def tasks(self) -> int:
        """How many jobs it is: an array that waits is one line of the queue."""
        return len(expanded(self.id.partition("%")[0].removesuffix("]") + "]" * ("[" in self.id)))


def squeue(*options: str) -> str:
    """Return the command whose lines `read_queue` reads; times are in UTC."""
    return " ".join(["env TZ=UTC squeue --noheader", *options, f"--format='{COLUMNS}'"])


def read_queue(printed: str) -> tuple[QueuedJob, ...]:
    """Return the jobs that squeue prints; lines that say something else are left out."""
    return tuple(_jobs(printed.splitlines()))


def _jobs(lines: list[str]) -> Iterator[QueuedJob]:
    for line in lines:
        fields = [field.strip() for field in line.split("|", _COUNT)]
        if len(fields) > _COUNT:
            id_, state, user, partition, count, elapsed, ends, nodes, reason, name = fields
            yield QueuedJob(
                id_, state, user, partition, count, elapsed, _moment(ends), nodes, reason, name
            )


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:  # NONE, N/A: no limit
        return None
