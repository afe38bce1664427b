"""Jobs that have not ended, from squeue; the only parser of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from slurmpod.slurm.hostlist import expanded

COLUMNS = "%i|%T|%u|%P|%D|%M|%e|%N|%r|%j"
"""The name comes last: it may contain the column separator."""

_COUNT = COLUMNS.count("|")
WITH_NODES = "RUNNING,SUSPENDED,COMPLETING,CONFIGURING,STOPPED"
"""The states in which a job has nodes, for --states."""


@dataclass(frozen=True)
class QueuedJob:
    """A job; `nodes` is a hostlist, `reason` says why it waits.

    `ends` is its time limit, None if it has none or squeue does not report one.
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
        """The number of jobs: a pending array is one line of the queue."""
        return len(expanded(self.id.partition("%")[0].removesuffix("]") + "]" * ("[" in self.id)))


def squeue(*options: str) -> str:
    """Return the command whose output `read_queue` parses; times are in UTC."""
    return " ".join(["env TZ=UTC squeue --noheader", *options, f"--format='{COLUMNS}'"])


def read_queue(printed: str) -> tuple[QueuedJob, ...]:
    """Return the jobs from squeue; skip other lines."""
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
