"""Moments of options such as --begin and --deadline, as far from now as sbatch reckons."""

from __future__ import annotations

import math
import re

from slurmpod.jobs.calls import Option

FROM_NOW = re.compile(
    r"now(?:\s*([+-])\s*([0-9]{1,9})\s*(?:(sec|min|hour|day|week)[a-z]*)?)?", re.ASCII
)
YEAR = re.compile(r"([0-9]{4})-", re.ASCII)
EARLIEST, LATEST = 2026, 2090
"""The years in which a script may be submitted; no clock is asked."""

MINUTES = {"": 1 / 60, "sec": 1 / 60, "min": 1, "hour": 60, "day": 1440, "week": 10080}


def minutes_from_now(option: Option | None) -> float | None:
    """Return when a moment such as now+2hours is; None for what only the clock can tell.

    Dates of long ago are over, whenever that is asked, and those of a far year never come.
    """
    text = option.value.strip() if option else ""
    year = YEAR.match(text)
    if year and int(year[1]) < EARLIEST:
        return -1
    if year and int(year[1]) > LATEST:
        return math.inf
    match = FROM_NOW.fullmatch(text)
    if not match:
        return None
    return int(f"{match[1] or ''}{match[2] or 0}") * MINUTES[match[3] or ""]
