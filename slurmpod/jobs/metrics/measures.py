"""Lives of a training -> its measures: progress, loss, throughput, and what restarts have cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from slurmpod.jobs.metrics.log import Life
from slurmpod.jobs.metrics.pauses import seconds_paused
from slurmpod.jobs.metrics.report import HANG, SAVING, Report
from slurmpod.jobs.metrics.work import Work
from slurmpod.value import Value


class Measures(Value):
    """What is known of a whole run; None where the log has no times or numbers of samples.

    `steps_trained_twice` are those that a restart threw away, as far as they were reported.
    `seconds_lost` are the time that these took, and the time from the last report before a restart
    to the first one after it. `seconds_paused` are those of saving, evaluating and hangs while it
    ran, `seconds_saving` and `seconds_hanging` those of them of which the log says so; `goodput` is
    the share of all the time that is neither lost nor paused. `train_samples_per_second` is the
    throughput while it trained, `samples_per_second_with_losses` that of all the time.
    `seconds_per_step`, tokens and `mfu` are medians of what was reported, or follow from the
    throughput and from what a step computes.
    """

    step: int
    loss: float
    lowest_loss: float
    restarts: int
    steps_trained_twice: int
    seconds_lost: float | None
    seconds_paused: float | None
    seconds_saving: float | None
    seconds_hanging: float | None
    goodput: float | None
    train_runtime: float | None
    train_samples_per_second: float | None
    train_steps_per_second: float | None
    samples_per_second_with_losses: float | None
    learning_rate: float | None
    seconds_per_step: float | None
    tokens_per_second: float | None
    tokens_per_second_per_accelerator: float | None
    mfu: float | None


NOTHING_MORE = Work()


def measures(run: Sequence[Life], work: Work = NOTHING_MORE) -> Measures:
    """Return the measures of a run that has reported something, and whose steps are such work."""
    reports = [report for life in run for report in life.reports]
    last = reports[-1]
    thrown_away = [_thrown_away(before, after) for before, after in pairwise(run)]
    training = _total(_seconds(life.reports[0], life.reports[-1]) for life in run)
    whole = _seconds(reports[0], last)
    seconds = _seconds_per_step(run, training)
    lost = _total(
        _seconds(before.reports[-1], after.reports[0], plus=_since(before, _start(after)))
        for before, after in pairwise(run)
    )
    paused, saving, hanging = (
        _total(seconds_paused(reports, said) for reports in _that_count(run))
        for said in (None, SAVING, HANG)
    )
    return Measures(
        step=last.step,
        loss=last.loss,
        lowest_loss=min(report.loss for report in reports),
        restarts=len(run) - 1,
        steps_trained_twice=sum(thrown_away),
        seconds_lost=lost,
        seconds_paused=paused,
        seconds_saving=saving,
        seconds_hanging=hanging,
        goodput=_goodput(whole, lost, paused),
        train_runtime=training,
        train_samples_per_second=_rate(_total(map(_samples, run)), training),
        train_steps_per_second=_rate(float(sum(map(_steps, run))), training),
        samples_per_second_with_losses=_rate(_samples_between(reports[0], last), whole),
        learning_rate=last.rate,
        seconds_per_step=seconds,
        **work.throughput(
            samples_per_second=_rate(_total(map(_samples, run)), training),
            seconds_per_step=seconds,
            tokens_of_one=_median(each.tokens_per_second for each in reports),
            mfu=_median(each.mfu for each in reports),
        ),
    )


def _goodput(whole: float | None, lost: float | None, paused: float | None) -> float | None:
    """Return the share of time spent on steps that count."""
    if not whole or lost is None or paused is None:
        return None
    return max(0.0, 1 - (lost + paused) / whole)


def _seconds_per_step(run: Sequence[Life], training: float | None) -> float | None:
    said = _median(report.seconds for life in run for report in life.reports)
    return said or _rate(training, float(sum(map(_steps, run))))


def _median(values: Iterator[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def throughput(life: Life) -> Iterator[tuple[int, float]]:
    """Yield steps with the samples per second since the previous report."""
    for before, after in pairwise(life.reports):
        rate = _rate(_samples_between(before, after), _seconds(before, after))
        if rate is not None:
            yield after.step, rate


def prometheus(found: Measures) -> str:
    """Return the measures in Prometheus' text format, e.g. for node_exporter's textfiles."""
    known = {name: value for name, value in vars(found).items() if value is not None}
    return "".join(f"# TYPE {name} gauge\n{name} {value!r}\n" for name, value in known.items())


def _start(life: Life) -> int:
    """Return the step that a life resumes from."""
    return life.reports[0].step - 1 if life.after is None else life.after


def _that_count(run: Sequence[Life]) -> Iterator[Sequence[Report]]:
    """Yield the reports of each life that no restart discarded."""
    for before, after in pairwise(run):
        yield [report for report in before.reports if report.step <= _start(after)]
    yield run[-1].reports


def _thrown_away(before: Life, after: Life) -> int:
    return max(0, before.reports[-1].step - _start(after))


def _since(life: Life, step: int) -> float | None:
    """Return the seconds of a life from a step to its end."""
    begin = [report for report in life.reports if report.step <= step] or life.reports[:1]
    return _seconds(begin[-1], life.reports[-1])


def _seconds(first: Report, last: Report, plus: float | None = 0.0) -> float | None:
    if first.at is None or last.at is None or plus is None:
        return None
    return last.at - first.at + plus


def _steps(life: Life) -> int:
    return life.reports[-1].step - life.reports[0].step


def _samples(life: Life) -> float | None:
    return _samples_between(life.reports[0], life.reports[-1])


def _samples_between(first: Report, last: Report) -> float | None:
    if first.samples is None or last.samples is None:
        return None
    return float(last.samples - first.samples)


def _total(values: Iterator[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _rate(amount: float | None, seconds: float | None) -> float | None:
    return amount / seconds if amount is not None and seconds else None
