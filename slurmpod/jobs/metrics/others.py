"""Lines of other programs' trainings -> reports."""

from __future__ import annotations

from collections.abc import Iterator
from re import Match

from slurmpod.jobs.metrics.formats import BAR, COLOURS, FORMATS
from slurmpod.jobs.metrics.printed_times import printed_time
from slurmpod.jobs.metrics.report import Report, number


class OtherReports:
    """Reads line by line: a report without a step waits for the progress bar behind it."""

    def __init__(self) -> None:
        self._waiting: tuple[str, Match[str]] | None = None
        self._bar: int | None = None

    def read(self, line: str) -> Iterator[Report]:
        """Yield the reports that this line completes."""
        if bar := BAR.search(line):
            self._bar = int(bar["step"])
            yield from self.rest()
        text = COLOURS.sub("", line.rstrip())
        for each in FORMATS:
            if found := each.pattern.search(text):
                if not {"step", "done"} & each.pattern.groupindex.keys():
                    self._waiting = (each.name, found)
                    return
                yield from _report(each.name, found, _step(found))
                return

    def rest(self) -> Iterator[Report]:
        """Yield reports that waited for a step, with the last one of a bar."""
        if self._waiting and self._bar is not None:
            yield from _report(*self._waiting, self._bar)
            self._waiting = None


def _step(found: Match[str]) -> int | None:
    """Return the number of a step; of a bar in batches since the beginning, if that is known."""
    known = found.groupdict()
    if "step" in known:
        return int(known["step"])
    epoch, done = int(known["epoch"]), int(known["done"])
    if done == 0 or (epoch and known["of"] == "?"):
        return None
    return epoch * int(known["of"]) + done if epoch else done


def _report(name: str, found: Match[str], step: int | None) -> Iterator[Report]:
    known = found.groupdict()
    loss, samples = number(known["loss"]), known.get("samples")
    if step is None or loss is None:
        return
    milliseconds, percent = number(known.get("milliseconds")), number(known.get("mfu"))
    yield Report(
        step,
        loss,
        int(samples) if samples else None,
        printed_time(known.get("time")),
        rate=number(known.get("rate")),
        seconds=number(known.get("seconds")) if milliseconds is None else milliseconds / 1000,
        tokens_per_second=number(known.get("tokens")),
        mfu=percent / 100 if percent is not None and percent >= 0 else None,
        format=name,
    )
