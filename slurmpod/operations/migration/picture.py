"""A snapshot of a cluster's jobs, records, users and nodes."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from slurmpod.operations.questions import question
from slurmpod.slurm.records import rows, sacct

JOBS, STEPS, RECORDS, ENDS = "jobs", "steps", "records", "ends"
ASSOCIATIONS, PEOPLE, NODES = "associations", "people", "nodes"
RUNNING = "RUNNING"
PENDING = "PENDING"
HAS_ENDED = "COMPLETED"
_ENDED = "BOOT_FAIL,CANCELLED,COMPLETED,DEADLINE,FAILED,NODE_FAIL,OUT_OF_MEMORY,PREEMPTED,TIMEOUT"
_ID, _STATE = "JobIDRaw", "State"
_ALL = ("--allusers", "--allocations")


_EVER = ("--starttime=2000-01-01", "--endtime=now", f"--state={_ENDED}")


@dataclass(frozen=True)
class Picture:
    """Jobs and steps by id, the number of ended jobs on record, and names.

    `jobs` and `steps` have state and start; `ends` has the outcome of selected ended jobs.
    """

    jobs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    steps: Mapping[str, Sequence[str]] = field(default_factory=dict)
    records: int = 0
    associations: Sequence[str] = ()
    people: Sequence[str] = ()
    nodes: Sequence[str] = ()
    ends: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return a snapshot from plain data."""
        return cls(**data)

    def as_data(self) -> dict[str, Any]:
        """Return the snapshot as plain data."""
        return dataclasses.asdict(self)

    def in_state(self, state: str) -> dict[str, Sequence[str]]:
        """Return the jobs in a state."""
        return {id_: found for id_, found in self.jobs.items() if found[0] == state}


@dataclass(frozen=True)
class Row:
    """A row of the comparison: the number before, what is still there, and what is lost."""

    what: str
    before: int
    after: str
    lost: tuple[str, ...]


def picture_script(*, accounting: bool, ended: Collection[str] = ()) -> str:
    """Return the script for root on a controller; `ended` are jobs whose outcome to print."""
    asked = {
        JOBS: "squeue --array --noheader --format='%A|%T|%S'",
        STEPS: "squeue --steps --noheader --format='%i|%S'",
        NODES: "sinfo --Node --noheader --format='%N'",
        PEOPLE: "getent passwd | awk -F: '$3 >= 1000 && $3 < 65534 {print $1\":\"$3}'",
    }
    if accounting:
        asked |= {
            RECORDS: f"{sacct([_ID], *_ALL, '--duplicates', *_EVER)} | wc --lines",
            ASSOCIATIONS: "sacctmgr --noheader --parsable2 show associations "
            "format=cluster,account,user,qos",
        }
    if accounting and ended:
        jobs = shlex.quote(",".join(sorted(ended)))
        asked[ENDS] = sacct([_ID, _STATE], *_ALL, f"--jobs={jobs}")
    return "set -e\n" + "".join(question(name, command) for name, command in asked.items())


def read_picture(answers: Mapping[str, str]) -> Picture:
    """Return the snapshot from the script's output."""
    found = {name: answers.get(name, "").split("\n") for name in (ASSOCIATIONS, PEOPLE, NODES)}
    names = {name: tuple(sorted({each for each in of if each})) for name, of in found.items()}
    ends = {row[_ID]: row[_STATE] for row in rows(answers.get(ENDS, ""), [_ID, _STATE])}
    return Picture(
        jobs={id_: rest for id_, *rest in _columns(answers[JOBS])},
        steps={id_: rest for id_, *rest in _columns(answers[STEPS])},
        records=int(answers.get(RECORDS) or 0),
        ends={id_: state.split()[0] for id_, state in ends.items()},
        **names,
    )


def compared(before: Picture, after: Picture) -> tuple[Row, ...]:
    """Return the comparison row by row; a job that has completed meanwhile is not lost."""
    running, waiting = before.in_state(RUNNING), before.in_state(PENDING)
    on = [id_ for id_ in running if after.jobs.get(id_) == running[id_]]
    still = [id_ for id_ in waiting if id_ in after.jobs]
    steps = [id_ for id_ in before.steps if after.steps.get(id_) == before.steps[id_]]
    missing = [id_ for id_ in before.steps if id_ not in steps and not _has_ended(id_, after)]
    fewer = before.records - after.records
    return (
        Row("running jobs", len(running), _went_on(on, running), _lost(running, on, after)),
        Row("running steps", len(before.steps), _went_on(steps, before.steps), tuple(missing)),
        Row("jobs in the queue", len(waiting), f"{len(still)} there", _lost(waiting, still, after)),
        Row(
            "records of ended jobs",
            before.records,
            f"{after.records} there",
            (f"{fewer} records",) if fewer > 0 else (),
        ),
        _kept("accounts, users and their QOS", before.associations, after.associations),
        _kept("people on the controller", before.people, after.people),
        _kept("nodes by their names", before.nodes, after.nodes),
    )


def _columns(text: str) -> Iterator[list[str]]:
    return (line.split("|") for line in text.splitlines() if "|" in line)


def _went_on(on: Sequence[str], of: Mapping[str, Sequence[str]]) -> str:
    ended = len(of) - len(on)
    return f"{len(on)} continue" + (f", {ended} ended" if ended else "")


def _lost(jobs: Mapping[str, Any], there: Sequence[str], after: Picture) -> tuple[str, ...]:
    gone = (id_ for id_ in jobs if id_ not in there and not _has_ended(id_, after))
    return tuple(f"job {id_} ({_fate(id_, after)})" for id_ in gone)


def _has_ended(id_: str, after: Picture) -> bool:
    """Return whether a job, or the job of a step, ended by itself."""
    return after.ends.get(id_.partition(".")[0]) == HAS_ENDED


def _fate(id_: str, after: Picture) -> str:
    if id_ in after.jobs:
        return "started again"
    return after.ends.get(id_, "unknown")


def _kept(what: str, before: Sequence[str], after: Sequence[str]) -> Row:
    gone = tuple(each for each in before if each not in after)
    return Row(what, len(before), f"{len(before) - len(gone)} there", gone)
