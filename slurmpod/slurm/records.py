"""Slurm's job records, from sacct; the only parser of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

FIELDS = ("jobid", "user", "partition", "nnodes", "state", "submit", "start", "end", "jobname")
"""The name comes last: it may contain the field separator."""


@dataclass(frozen=True)
class JobRecord:
    """A job; `started` and `ended` are None if it has not started or ended."""

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
        """Time in the queue, in seconds."""
        return _seconds(self.submitted, self.started)

    @property
    def ran_seconds(self) -> float | None:
        """Run time, in seconds."""
        return _seconds(self.started, self.ended)


def sacct(fields: Sequence[str], *options: str) -> str:
    """Return the command that prints fields of job records with `|` between them."""
    return " ".join(["sacct --noheader --parsable2", *options, f"--format={','.join(fields)}"])


def rows(printed: str, fields: Sequence[str], fewest: int = 0) -> Iterator[Mapping[str, str]]:
    """Yield each record by field; one with `fewest` fields lacks the last ones.

    A line with fewer fields is not a record, but sacct's reason for having none.
    """
    for values in (line.split("|", len(fields) - 1) for line in printed.splitlines()):
        if len(values) >= (fewest or len(fields)):
            yield dict.fromkeys(fields, "") | dict(zip(fields, values, strict=False))


def read_records(printed: str) -> tuple[JobRecord, ...]:
    """Return the jobs from lines with FIELDS, with times in seconds (SLURM_TIME_FORMAT=%s).

    Raises ValueError for a line that is not a record: it is sacct's reason for having none.
    """
    rows = [line.split("|", len(FIELDS) - 1) for line in printed.splitlines() if line.strip()]
    if strange := ["|".join(row) for row in rows if len(row) != len(FIELDS)]:
        raise ValueError(strange[0])
    return tuple(_record(*row) for row in rows)


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
