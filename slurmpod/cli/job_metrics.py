"""`slurmpod job metrics`: loss, throughput and restarts of a training, from its log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from slurmpod.cli.job_metrics_work import work_of
from slurmpod.cli.output import print_json, say
from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.metrics.formats import FORMATS
from slurmpod.jobs.metrics.log import Life, lives
from slurmpod.jobs.metrics.measures import Measures, measures, prometheus
from slurmpod.jobs.metrics.picture import picture
from slurmpod.problems import ExitCode, WorkFailed, counted
from slurmpod.whole_file import write_whole

STANDARD_INPUT = Path("-")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the metrics, and write the files that the user names."""
    try:
        work = work_of(options)
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    found = lives(line for log in options.logs for line in _lines(log))
    if not found:
        say(_unknown(options.logs))
        return ExitCode.FAILED
    known = measures(found, work)
    if options.svg:
        _write(options.svg, picture(options.logs[-1].name, _summary(known), found))
    if options.prometheus:
        _write(options.prometheus, prometheus(known))
    if options.json:
        print_json({**asdict(known), "lives": [asdict(life) for life in found]})
    else:
        _print(known, found)
    return ExitCode.OK


def _unknown(logs: Sequence[Path]) -> str:
    names = ", ".join(map(str, logs))
    known = ", ".join(each.name for each in FORMATS)
    return (
        f"{names}: no training steps found\n"
        f"  known formats: lines with 'step N loss X', and {known}\n"
        "  fix: print 'step N loss X' from one process; Hugging Face's Trainer logs steps only in\n"
        "  its progress bar (disable_tqdm=False), on standard error: write both to one file"
    )


def _lines(log: Path) -> Iterator[str]:
    """Yield the lines of a log; skip bytes that are not text."""
    try:
        if log == STANDARD_INPUT:
            yield from sys.stdin
            return
        with log.open(encoding="utf-8", errors="replace") as file:
            yield from file
    except OSError as error:
        raise WorkFailed(f"{log} cannot be read: {error.strerror}") from None


def _write(file: Path, text: str) -> None:
    try:
        write_whole(file, text)
    except OSError as error:
        raise WorkFailed(f"{file} cannot be written: {error.strerror}") from None
    say(f"written: {file}")


def _print(known: Measures, found: Sequence[Life]) -> None:
    sys.stdout.write(f"step {known.step}, loss {known.loss:g} (lowest {known.lowest_loss:g})\n")
    if known.train_samples_per_second is not None:
        sys.stdout.write(
            f"{known.train_samples_per_second:.4g} samples and"
            f" {known.train_steps_per_second or 0:.4g} steps per second while it trained\n"
        )
    for line in _efficiency(known, found):
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{_summary(known)}\n")
    if known.restarts and known.samples_per_second_with_losses is not None:
        rate = known.samples_per_second_with_losses
        sys.stdout.write(f"{rate:.4g} samples per second overall\n")
    for number, life in enumerate(found, start=1):
        first, last = life.reports[0].step, life.reports[-1].step
        sys.stdout.write(f"  run {number}: step {first} to {last}\n")


def _efficiency(known: Measures, found: Sequence[Life]) -> Iterator[str]:
    """Yield rate, steps, tokens and MFU, as far as the log or the options give them."""
    if name := found[0].reports[0].format:
        yield f"a log of {name}"
    if known.learning_rate is not None:
        yield f"learning rate {known.learning_rate:g}"
    if known.seconds_per_step is not None:
        yield f"{known.seconds_per_step:.4g} seconds per step"
    if known.tokens_per_second is not None:
        yield f"{known.tokens_per_second:.4g} tokens per second"
    if known.tokens_per_second_per_accelerator is not None:
        yield f"{known.tokens_per_second_per_accelerator:.4g} per accelerator"
    if known.mfu is not None:
        yield f"MFU {known.mfu:.1%}"
    if known.goodput is not None:
        paused = f"{known.seconds_paused:.0f} seconds of pauses"
        yield f"goodput {known.goodput:.1%}, with {paused}{_told(known)}"


def _told(known: Measures) -> str:
    """Return the part of the pauses that the log explains."""
    parts = {"to save": known.seconds_saving, "of hangs": known.seconds_hanging}
    words = ", ".join(f"{seconds:.0f} {what}" for what, seconds in parts.items() if seconds)
    return f" ({words})" if words else ""


def _summary(known: Measures) -> str:
    twice = f"{counted(known.steps_trained_twice, 'step')} trained twice"
    lost = "" if known.seconds_lost is None else f", {known.seconds_lost:.0f} seconds lost"
    return f"{counted(known.restarts, 'restart')}" + (f", {twice}{lost}" if known.restarts else "")
