"""The log of a training -> its lives: what it reported of each step, from one start to the next.

The trainings of recipes print `step 12 loss 5.5449 rate 3e-3 samples 6144 at 1764000370.123`, with
Unix seconds behind `at`; `pretrain` adds `tokens_per_second_per_accelerator` and `mfu`. Programs of
users may leave out what comes behind the loss. A life begins where the program says so, and where a
step comes that is no later one. Those of others (formats.py) may report a step several times, from
each process or in a bar: it counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from slurmpod.jobs.metrics.others import OtherReports
from slurmpod.jobs.metrics.report import HANG, SAVING, Report, number

STEP = re.compile(r"(?:^|\s)step (\d{1,15}) loss (\S+)((?: [a-z_]+ [^\s]+)*)")
REASONS = {
    HANG: re.compile(r"^slurmpod-watch: hang: "),
    SAVING: re.compile(r"(?i)^(?!slurmpod-watch: ).*\bsav(?:e|ed|ing)\b.*\bcheckpoint"),
}
"""Log lines that explain a slow step: hangs that the watcher found, and saving of checkpoints."""

BEGINS = re.compile(r"(?:starting from the beginning|resuming after step (\d{1,15})) with ")


@dataclass
class Life:
    """The reports of one start; `after` is the step that it resumes from, if logged."""

    after: int | None
    reports: list[Report] = field(default_factory=list)


def lives(lines: Iterable[str]) -> tuple[Life, ...]:
    """Return the lives with reports, in order."""
    found: list[Life] = []
    others, said = OtherReports(), ""
    for line in lines:
        said = _said(line, said)
        if begins := BEGINS.search(line):
            found.append(Life(int(begins[1] or 0)))
        for report in (*_report(line), *others.read(line)):
            if _add(replace(report, said=said), found):
                said = ""
    for report in others.rest():
        _add(replace(report, said=said), found)
    return tuple(life for life in found if life.reports)


def _said(line: str, before: str) -> str:
    """Return the reason for the time since the last report, after this line; a hang wins."""
    reasons = (what for what, pattern in REASONS.items() if pattern.search(line))
    return before if before == HANG else next(reasons, before)


def _add(report: Report, found: list[Life]) -> bool:
    """Add a report to the last life or a new one; return False for a repeated report."""
    last = found[-1].reports[-1] if found and found[-1].reports else None
    if last and report.format and report.step == last.step:
        return False
    if not found or (last and report.step <= last.step):
        found.append(Life(None))
    found[-1].reports.append(report)
    return True


def _report(line: str) -> Iterator[Report]:
    """Yield the reports of a line, without those whose loss is not a number."""
    found = STEP.search(line)
    loss = number(found[2]) if found else None
    if not found or loss is None:
        return
    words = found[3].split()
    more = dict(zip(words[::2], words[1::2], strict=True))
    samples = number(more.get("samples", ""))
    whole = int(samples) if samples is not None else None
    yield Report(
        int(found[1]),
        loss,
        whole,
        number(more.get("at")),
        rate=number(more.get("rate")),
        tokens_per_second=number(more.get("tokens_per_second_per_accelerator")),
        mfu=number(more.get("mfu")),
    )
