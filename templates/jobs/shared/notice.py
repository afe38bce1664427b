"""Advance notice of a job's end, so that a checkpoint can be written first.

Slurm sends SIGTERM before it ends a job that is preempted or cancelled; torch.distributed.run
forwards it, and kills the rest 30 s later. The end at the time limit is known from the beginning
(SLURM_JOB_END_TIME), and the job can be requeued before it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import NoReturn

import torch
import torch.distributed as dist
from processes import say

MOST_OF_LIMIT = 0.25
"""The maximum share of the time limit to reserve for the end: a short job has to progress, too."""

LATE, SIGNALLED = 1, 2


class Notice:
    """Whether this job ends soon; created and called by all processes together."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._is_signalled = False
        signal.signal(signal.SIGTERM, self._hear)
        self._end = float(os.environ.get("SLURM_JOB_END_TIME", "inf"))
        self._start = float(os.environ.get("SLURM_JOB_START_TIME", time.time()))
        self._reason = 0

    def is_given(self) -> bool:
        """Return whether to save now and exit; the same in all processes."""
        mine = SIGNALLED if self._is_signalled else LATE if self._is_late() else 0
        reason = torch.tensor(mine)
        dist.all_reduce(reason, op=dist.ReduceOp.MAX)
        self._reason = int(reason)
        return self._reason > 0

    def leave(self, step: int) -> NoReturn:
        """Exit this process, now that `step` is saved; at its time limit the job is requeued."""
        if self._reason == LATE:
            say(f"the time limit is near: saved after step {step}, to go on in the requeued job")
            if dist.get_rank() == 0:
                _requeue()
            dist.barrier()  # the first exit would end the job before it is requeued
        sys.exit(f"told to end: saved after step {step}")

    def _hear(self, *_: object) -> None:
        self._is_signalled = True

    def _is_late(self) -> bool:
        """Return whether the limit is near; only the first process checks its clock."""
        if dist.get_rank() or time.time() < self._end - self._ahead():
            return False
        self._end = max(self._end, _end_of_job())  # an administrator may have extended it
        return time.time() >= self._end - self._ahead()

    def _ahead(self) -> float:
        return min(self._seconds, (self._end - self._start) * MOST_OF_LIMIT)


def _end_of_job() -> float:
    """Return when Slurm will end this job as of now; 0 if it does not say."""
    command = ["squeue", "--noheader", "--jobs", os.environ["SLURM_JOB_ID"], "--format", "%e"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return time.mktime(time.strptime(shown.stdout.strip(), "%Y-%m-%dT%H:%M:%S"))
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0.0


def _requeue() -> None:
    command = ["scontrol", "requeue", os.environ["SLURM_JOB_ID"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        say(f"the job was not requeued: {done.stderr.strip()}")
