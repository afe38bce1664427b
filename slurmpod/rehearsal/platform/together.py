"""Work on several nodes at once that succeeds or fails as a whole."""

from __future__ import annotations

from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import BrokenBarrierError
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.platform import ClusterFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future


def together(tasks: Sequence[Callable[[], None]], give_up: Callable[[], None]) -> None:
    """Run all tasks at once and return when all are done.

    When one fails, `give_up` has to make the others end. Raises ClusterFailed with the failure
    that came first, those of nodes before all else.
    """
    if not tasks:
        return
    with ThreadPoolExecutor(max_workers=len(tasks)) as pool:
        futures = [pool.submit(task) for task in tasks]
        wait(futures, return_when=FIRST_EXCEPTION)
        first = _failures(futures)
        if first:
            give_up()
    if first:
        raise first_cause(_causes(first) or _causes(_failures(futures)) or first)


def first_cause(failures: Sequence[BaseException]) -> ClusterFailed:
    """Return what the person who deploys is told: scripts that failed before all else."""
    for failure in failures:
        if isinstance(failure, ClusterFailed):
            return failure
    return ClusterFailed(f"the rehearsal's platform failed: {failures[0]}")


def _failures(futures: Sequence[Future[None]]) -> list[BaseException]:
    return [error for future in futures if future.done() and (error := future.exception())]


def _causes(failures: Sequence[BaseException]) -> list[BaseException]:
    """Return the failures but for those of who waited for others, which say nothing."""
    return [failure for failure in failures if not isinstance(failure, BrokenBarrierError)]
