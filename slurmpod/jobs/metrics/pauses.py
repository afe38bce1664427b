"""The time in which nothing was reported though it ran: saving, evaluating, compiling, hangs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from slurmpod.jobs.metrics.report import Report

LONG = 3.0
"""How many times the usual a step takes that has a pause in it."""


def seconds_paused(reports: Sequence[Report]) -> float | None:
    """Return what steps took beyond the usual, where that was long; None without times."""
    if any(report.at is None for report in reports):
        return None
    intervals = list(_intervals(reports))
    usual = median(seconds / steps for steps, seconds in intervals) if intervals else 0.0
    return sum(
        seconds - steps * usual for steps, seconds in intervals if seconds > LONG * steps * usual
    )


def _intervals(reports: Sequence[Report]) -> Iterator[tuple[int, float]]:
    """Yield steps from one report to the next, and the seconds that they took."""
    for before, after in pairwise(reports):
        if before.at is not None and after.at is not None:
            yield after.step - before.step, after.at - before.at
