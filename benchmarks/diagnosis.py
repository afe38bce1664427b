"""How many broken states `slurmpod why` diagnoses correctly, wrongly and not at all."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable

from benchmarks.measure import Row
from tests.pure.diagnosis.diagnosis import Verdict, states

TARGET = "95 % right, none wrong"


def diagnosis_rows() -> Iterable[Row]:
    """Run `why` on each state at each of its moments, and print those that it did not diagnose."""
    counts: Counter[Verdict] = Counter()
    began = time.perf_counter()
    for state in states():
        story = state.story()
        verdict = state.verdict(story)
        counts[verdict] += 1
        if verdict is not Verdict.RIGHT:
            named = f"{state.name}, {state.moment}: {verdict}: {story.cause.says}"
            print(named, file=sys.stderr)  # noqa: T201  # a command-line program
    seconds = (time.perf_counter() - began) / counts.total()
    figures = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    yield Row(f"why: {counts.total()} states: {figures}", seconds, target=TARGET)
