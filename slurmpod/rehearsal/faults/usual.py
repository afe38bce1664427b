"""Usual durations of faults: those of one run of each, on environments/dev.yaml.

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
    """How long a fault took, in seconds; the words are those of FaultReport."""

    noticed_seconds: float | None
    recovered_seconds: float
    total_seconds: float


@cache
def usual() -> Mapping[str, Usual]:
    """Return the durations by the names of faults."""
    return {name: Usual(**each) for name, each in json.loads(FILE.read_text()).items()}


def usual_duration(name: str) -> str:
    """Return in words how long a fault takes with all that belongs to it; empty if unknown."""
    found = usual().get(name)
    if found is None:
        return ""
    seconds = round(found.total_seconds)
    return f"{seconds} s" if seconds < 100 else f"{round(seconds / 60)} min"
