"""Steps that run under `srun --auto-resume=1`, as the cluster agent knows them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class ResumeAction(StrEnum):
    """What becomes of a step that failed; the first two are words of HyperPod's own log.

    How that log calls the third, for jobs on nodes with GRES, is not known.
    """

    RETRYSTEP = "RETRYSTEP"
    NONE = "NONE"
    REQUEUE = "REQUEUE"


@dataclass(eq=False)
class _Step:
    job_id: str
    host: str


class ResumableSteps:
    """The steps whose srun is connected; safe to use from several threads."""

    def __init__(self) -> None:
        self._steps: set[_Step] = set()
        self._lock = threading.Lock()

    @property
    def jobs(self) -> frozenset[str]:
        """The ids of jobs that have such a step."""
        with self._lock:
            return frozenset(step.job_id for step in self._steps)

    @contextlib.contextmanager
    def step(self, job_id: str, host: str) -> Iterator[None]:
        """Know of a step of a job for a while; its srun runs on `host`."""
        step = _Step(job_id, host)
        with self._lock:
            self._steps.add(step)
        try:
            yield
        finally:
            with self._lock:
                self._steps.discard(step)

    def forget_those_on(self, host: str) -> None:
        """Forget the steps whose srun died with its node: it could not say so."""
        with self._lock:
            self._steps = {step for step in self._steps if step.host != host}
