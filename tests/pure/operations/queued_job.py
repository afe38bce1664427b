"""A job that runs, as squeue lists it."""

from __future__ import annotations

from slurmpod.slurm.queue import QueuedJob, read_queue


def a_job(id_: str, user: str, elapsed: str, nodes: str, name: str) -> QueuedJob:
    """Return the job of such a line."""
    (job,) = read_queue(f"{id_}|RUNNING|{user}|cpu|1|{elapsed}|NONE|{nodes}|None|{name}")
    return job
