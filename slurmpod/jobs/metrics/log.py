"""The log of a training -> its lives: what it reported of each step, from one start to the next.

The trainings of recipes print `step 12 loss 5.5449 rate 3e-3 samples 6144 at 1764000370.123`, with
Unix seconds behind `at`. Programs of users may leave out what comes behind the loss. A life begins
where the program says so, and where a step comes that is no later one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from slurmpod.value import Value

STEP = re.compile(r"(?:^|\s)step (\d{1,15}) loss (\S+)((?: [a-z_]+ [^\s]+)*)")
BEGINS = re.compile(r"(?:starting from the beginning|resuming after step (\d{1,15})) with ")


class Report(Value):
    """What is known after a step; `samples` are all that were seen, `at` is in Unix seconds."""

    step: int
    loss: float
    samples: int | None
    at: float | None


@dataclass
class Life:
    """The reports from one start on; `after` is the step that it goes on from, if it says so."""

    after: int | None
    reports: list[Report] = field(default_factory=list)


def lives(lines: Iterable[str]) -> tuple[Life, ...]:
    """Return the lives in which something was reported, in their order."""
    found: list[Life] = []
    for line in lines:
        if begins := BEGINS.search(line):
            found.append(Life(int(begins[1] or 0)))
        for report in _report(line):
            if not found or _is_behind(report, found[-1]):
                found.append(Life(None))
            found[-1].reports.append(report)
    return tuple(life for life in found if life.reports)


def _is_behind(report: Report, life: Life) -> bool:
    return bool(life.reports) and report.step <= life.reports[-1].step


def _report(line: str) -> Iterator[Report]:
    """Yield what a line reports; a loss that is no number says nothing."""
    found = STEP.search(line)
    loss = _number(found[2]) if found else None
    if not found or loss is None:
        return
    words = found[3].split()
    more = dict(zip(words[::2], words[1::2], strict=True))
    samples = _number(more.get("samples", ""))
    whole = int(samples) if samples is not None else None
    yield Report(int(found[1]), loss, whole, _number(more.get("at", "")))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
