"""Slurm's queue, as `squeue` shows it to the controller; a waiting array counts as one job."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.exposition import Sample
from slurmpod_exporter.host import SLURM_COMMANDS, Host

WAITS_FOR_NODES = {"Resources", "Priority", "None"}
"""Reasons of jobs that run as soon as there are nodes for them (squeue(1), JOB REASON CODES)."""


class _Job(NamedTuple):
    partition: str
    state: str
    reason: str
    submitted: str


def _collect(host: Host) -> Iterator[Sample]:
    shown = "--format=%P|%T|%r|%V"
    lines = host.run(f"{SLURM_COMMANDS}/squeue", "--noheader", "--all", shown).splitlines()
    jobs = [_job(line) for line in lines if line.strip()]
    for (partition, state), count in sorted(Counter((j.partition, j.state) for j in jobs).items()):
        yield Sample("slurmpod_slurm_jobs", {"partition": partition, "state": state}, count)
    waiting = [job for job in jobs if job.state == "pending"]
    for (partition, reason), count in sorted(
        Counter((job.partition, job.reason) for job in waiting).items()
    ):
        labels = {"partition": partition, "reason": reason}
        yield Sample("slurmpod_slurm_pending_jobs", labels, count)
    yield from _longest_waits(waiting, host.now())


def _longest_waits(waiting: list[_Job], now: float) -> Iterator[Sample]:
    since: dict[str, float] = {}
    for job in waiting:
        if job.reason in WAITS_FOR_NODES:
            submitted = time.mktime(time.strptime(job.submitted, "%Y-%m-%dT%H:%M:%S"))
            since[job.partition] = min(since.get(job.partition, now), submitted)
    for partition, first in sorted(since.items()):
        labels = {"partition": partition}
        yield Sample("slurmpod_slurm_longest_wait_seconds", labels, max(0.0, now - first))


def _job(line: str) -> _Job:
    """Read a line; a job for several partitions is shown under the first."""
    partitions, state, reason, submitted = line.strip().split("|")
    return _Job(partitions.split(",")[0], state.lower(), reason.split(",")[0], submitted)


SLURM_JOBS = Collector("slurm_jobs", lambda host: host.is_controller, _collect)
