"""`slurmpod job metrics`: loss, throughput and restarts of a training, from its log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from slurmpod.cli.output import counted, print_json, say
from slurmpod.jobs.metrics.log import Life, lives
from slurmpod.jobs.metrics.measures import Measures, measures, prometheus
from slurmpod.jobs.metrics.picture import picture
from slurmpod.problems import ExitCode, WorkFailed
from slurmpod.whole_file import write_whole

STANDARD_INPUT = Path("-")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the measures, and write the files that the user names."""
    found = lives(line for log in options.logs for line in _lines(log))
    if not found:
        names = ", ".join(map(str, options.logs))
        say(f"no step is reported in {names}: lines with 'step N loss X' are read")
        return ExitCode.FAILED
    known = measures(found)
    if options.svg:
        _write(options.svg, picture(options.logs[-1].name, _summary(known), found))
    if options.prometheus:
        _write(options.prometheus, prometheus(known))
    if options.json:
        print_json({**asdict(known), "lives": [asdict(life) for life in found]})
    else:
        _print(known, found)
    return ExitCode.OK


def _lines(log: Path) -> Iterator[str]:
    """Yield the lines of a log; what is no text in it is passed over."""
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
    sys.stdout.write(f"{_summary(known)}\n")
    if known.restarts and known.samples_per_second_with_losses is not None:
        rate = known.samples_per_second_with_losses
        sys.stdout.write(f"{rate:.4g} samples per second with all that\n")
    for number, life in enumerate(found, start=1):
        first, last = life.reports[0].step, life.reports[-1].step
        sys.stdout.write(f"  life {number}: step {first} to {last}\n")


def _summary(known: Measures) -> str:
    twice = f"{counted(known.steps_trained_twice, 'step')} trained twice"
    lost = "" if known.seconds_lost is None else f", {known.seconds_lost:.0f} seconds lost"
    return f"{counted(known.restarts, 'restart')}" + (f", {twice}{lost}" if known.restarts else "")
