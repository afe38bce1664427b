"""Running steps under `srun --auto-resume=1`: their allocations outlive the death of a node."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass


@dataclass(eq=False)
class _Step:
    job_id: str
    host: str
    tell: Callable[[str], None]


class ResumableSteps:
    """The steps whose srun is connected; thread-safe."""

    def __init__(self) -> None:
        self._steps: set[_Step] = set()
        self._lock = threading.Lock()

    @property
    def jobs(self) -> frozenset[str]:
        """The ids of jobs with such a step."""
        with self._lock:
            return frozenset(step.job_id for step in self._steps)

    @contextlib.contextmanager
    def step(self, job_id: str, host: str, tell: Callable[[str], None]) -> Iterator[None]:
        """Register a step of a job while the block runs; its srun runs on `host`.

        `tell` is called with the name of a node that the step has lost.
        """
        step = _Step(job_id, host, tell)
        with self._lock:
            self._steps.add(step)
        try:
            yield
        finally:
            with self._lock:
                self._steps.discard(step)

    def lose(self, jobs: Collection[str], node: str) -> None:
        """Notify the steps of jobs that a node is gone.

        srun would not notice by itself: if the dead node's sockets were closed properly, it waits
        for that node's tasks forever (Slurm 24.11).
        """
        with self._lock:
            struck = [step for step in self._steps if step.job_id in jobs]
        for step in struck:
            with contextlib.suppress(OSError):  # its srun has just ended
                step.tell(node)

    def forget_those_on(self, host: str) -> None:
        """Remove the steps whose srun died with its node: it could not disconnect."""
        with self._lock:
            self._steps = {step for step in self._steps if step.host != host}
