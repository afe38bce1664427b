"""The last jobs of a cluster, as Slurm's records have them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.questions import as_root, question

RECORDS = "records"
DAYS, MOST_JOBS = 30, 25
SECONDS = 20
FIELDS = ("jobid", "user", "partition", "nnodes", "state", "submit", "start", "end", "jobname")
"""The name comes last: it may hold whatever stands between fields."""


@dataclass(frozen=True)
class JobRecord:
    """A job; `started` and `ended` are None for what has not happened (yet)."""

    id: str
    user: str
    partition: str
    nodes: int
    state: str
    submitted: datetime | None
    started: datetime | None
    ended: datetime | None
    name: str

    @property
    def waited_seconds(self) -> float | None:
        """How long it was in the queue."""
        return _seconds(self.submitted, self.started)

    @property
    def ran_seconds(self) -> float | None:
        """How long it had its nodes."""
        return _seconds(self.started, self.ended)


def records_command() -> str:
    """Return what a controller's shell has to do to tell of the last jobs; it only reads."""
    sacct = f"sacct -a -X -nP -S now-{DAYS}days --format={','.join(FIELDS)}"
    return as_root(
        "PATH=/opt/slurm/bin:$PATH\nexport SLURM_TIME_FORMAT=%s\n"
        + question(RECORDS, f"timeout {SECONDS} {sacct} 2>&1 | tail -n {MOST_JOBS}")
    )


def read_records(answer: str) -> tuple[JobRecord, ...]:
    """Read what `records_command` printed, the newest job first.

    Raises:
        AwsUnavailable: Slurm keeps no records, or does not answer.
    """
    rows = [line.split("|", len(FIELDS) - 1) for line in answer.splitlines() if line.strip()]
    if strange := ["|".join(row) for row in rows if len(row) != len(FIELDS)]:
        raise AwsUnavailable(f"Slurm's records cannot be read: {strange[0]}")
    return tuple(_record(*row) for row in reversed(rows))


def _record(*fields: str) -> JobRecord:
    id_, user, partition, nodes, state, submitted, started, ended, name = fields
    return JobRecord(
        id=id_,
        user=user,
        partition=partition,
        nodes=int(nodes or 0),
        state=state,
        submitted=_moment(submitted),
        started=_moment(started),
        ended=_moment(ended),
        name=name,
    )


def _moment(text: str) -> datetime | None:
    return datetime.fromtimestamp(int(text), UTC) if text.isdecimal() else None


def _seconds(begin: datetime | None, end: datetime | None) -> float | None:
    return (end - begin).total_seconds() if begin and end else None
