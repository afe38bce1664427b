"""Timing of whole commands: alternating, so that both sides see the same machine."""

from __future__ import annotations

import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Command:
    """A command to time, where it runs and with which variables."""

    arguments: Sequence[str]
    folder: Path
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Row:
    """One line of the table: what, how long (median seconds), against what, and the target."""

    what: str
    seconds: float
    floor: str = ""
    floor_seconds: float | None = None
    target: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the floor it took."""
        return self.seconds / self.floor_seconds if self.floor_seconds else None


def medians(commands: Mapping[str, Command], *, runs: int) -> dict[str, float]:
    """Run all commands in turn, `runs` times after one for warming up; return median seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            duration = _time(command)
            if turn:
                seconds[name].append(duration)
    return {name: statistics.median(durations) for name, durations in seconds.items()}


def _time(command: Command) -> float:
    started = time.perf_counter()
    result = subprocess.run(
        command.arguments,
        cwd=command.folder,
        env=dict(command.variables),
        check=False,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - started
    if result.returncode:
        raise SystemExit(f"{' '.join(command.arguments)} failed:\n{result.stdout}{result.stderr}")
    return seconds
