"""The use of GPUs by the jobs that hold them, from the environment's Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from slurmpod.operations.panel_pictures import Queries

BUSY, IDLE = "job:gpu_utilization:avg", "job:gpus_idle:count"
"""slurmpod's recording rules."""

BOTH = f'{{__name__=~"{BUSY}|{IDLE}"}}'
STEP_SECONDS = 60.0


@dataclass(frozen=True)
class GpuUse:
    """How busy a job's GPUs are, from 0 to 1, and how many of them did nothing for an hour."""

    busy: float
    idle: int


def gpu_use(queries: Queries, now: datetime) -> Mapping[str, GpuUse]:
    """Return the use by job id, for jobs with GPU metrics; raises AwsUnavailable."""
    at = now.timestamp()
    found = {
        (labels["__name__"], labels["slurm_job"]): points[-1][1]
        for labels, points in queries.range(BOTH, at, at, STEP_SECONDS)
        if points
    }
    return {
        job: GpuUse(busy, int(found.get((IDLE, job), 0)))
        for (name, job), busy in found.items()
        if name == BUSY
    }
