"""Time and memory of whole commands, alternating so that both sides see the same machine."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LAUNCHER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py")))


@dataclass(frozen=True)
class Command:
    """A command to measure, with its working directory and variables."""

    arguments: Sequence[str]
    folder: Path
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Cost:
    """The cost of one command: wall time, and the peak memory of its largest process."""

    seconds: float
    mebibytes: float


@dataclass(frozen=True)
class Row:
    """One line of the table: name, medians, comparison, and target.

    `is_missed` if a target that must hold on any machine is missed: the program then fails.
    """

    what: str
    seconds: float
    floor: str = ""
    floor_seconds: float | None = None
    target: str = ""
    mebibytes: float | None = None
    is_missed: bool = False

    @property
    def ratio(self) -> float | None:
        """The cost as a multiple of the floor."""
        return self.seconds / self.floor_seconds if self.floor_seconds else None


def medians(commands: Mapping[str, Command], *, runs: int) -> dict[str, Cost]:
    """Run all commands in turn, `runs` times after one warm-up; return the medians."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            cost = measured(command)
            if turn:
                costs[name].append(cost)
    return {
        name: Cost(
            seconds=statistics.median(cost.seconds for cost in each),
            mebibytes=statistics.median(cost.mebibytes for cost in each),
        )
        for name, each in costs.items()
    }


def measured(command: Command) -> Cost:
    """Run a command once; end this program with its output if it fails."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as report:
        status = subprocess.call(
            (*_LAUNCHER, str(report.fileno()), *command.arguments),
            cwd=command.folder,
            env=dict(command.variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(report.fileno(),),
        )
        if status:
            output.seek(0)
            raise SystemExit(f"{' '.join(command.arguments)} failed:\n{output.read()}")
        report.seek(0)
        seconds, kibibytes = report.read().split()
    return Cost(float(seconds), int(kibibytes) / 1024)
