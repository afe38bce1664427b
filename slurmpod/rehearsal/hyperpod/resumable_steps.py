"""Steps under `srun --auto-resume=1` that run: their allocations outlive the death of a node."""

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
    def step(self, job_id: str, host: str, tell: Callable[[str], None]) -> Iterator[None]:
        """Know of a step of a job for a while; its srun runs on `host`.

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
        """Tell the steps of jobs that a node is gone.

        srun would not find out by itself: where the dead node's sockets were closed in good order,
        it waits for that node's tasks for ever (Slurm 24.11).
        """
        with self._lock:
            struck = [step for step in self._steps if step.job_id in jobs]
        for step in struck:
            with contextlib.suppress(OSError):  # its srun has just ended
                step.tell(node)

    def forget_those_on(self, host: str) -> None:
        """Forget the steps whose srun died with its node: it could not say so."""
        with self._lock:
            self._steps = {step for step in self._steps if step.host != host}
