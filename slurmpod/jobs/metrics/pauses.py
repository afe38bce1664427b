"""Pauses of a running training: saving, evaluating, compiling, hangs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from slurmpod.jobs.metrics.report import Report

LONG = 3.0
"""Multiple of the usual duration from which a step counts as paused."""


def seconds_paused(reports: Sequence[Report], said: str | None = None) -> float | None:
    """Return the total time of slow steps beyond the usual; None without times.

    With `said`, only of those for which the log gives this reason.
    """
    if any(report.at is None for report in reports):
        return None
    intervals = list(_intervals(reports))
    usual = median(seconds / steps for steps, seconds, _ in intervals) if intervals else 0.0
    return sum(
        seconds - steps * usual
        for steps, seconds, reason in intervals
        if seconds > LONG * steps * usual and said in (None, reason)
    )


def _intervals(reports: Sequence[Report]) -> Iterator[tuple[int, float, str]]:
    """Yield the steps between two reports, their seconds, and the log's reason."""
    for before, after in pairwise(reports):
        if before.at is not None and after.at is not None:
            yield after.step - before.step, after.at - before.at, after.said
