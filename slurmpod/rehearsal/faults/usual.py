"""Usual durations of faults, measured in one run of each on environments/dev.yaml.

`python -m tools.fault_figures` writes the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("usual.json")


@dataclass(frozen=True)
class Usual:
    """The durations of a fault, in seconds, with the names of FaultReport."""

    noticed_seconds: float | None
    recovered_seconds: float
    total_seconds: float


@cache
def usual() -> Mapping[str, Usual]:
    """Return the durations, keyed by fault name."""
    return {name: Usual(**each) for name, each in json.loads(FILE.read_text()).items()}


def usual_duration(name: str) -> str:
    """Return the total duration of a fault as text; empty if unknown."""
    found = usual().get(name)
    if found is None:
        return ""
    seconds = round(found.total_seconds)
    return f"{seconds} s" if seconds < 100 else f"{round(seconds / 60)} min"
