"""Times of options such as --begin and --deadline, relative to now, as sbatch computes them."""

from __future__ import annotations

import math
import re

from slurmpod.jobs.calls import Option

FROM_NOW = re.compile(
    r"now(?:\s*([+-])\s*([0-9]{1,9})\s*(?:(sec|min|hour|day|week)[a-z]*)?)?", re.ASCII
)
YEAR = re.compile(r"([0-9]{4})-", re.ASCII)
EARLIEST, LATEST = 2026, 2090
"""The years in which a script may be submitted; the clock is not read."""

OF_DAY = re.compile(r"(?:[01]?[0-9]|2[0-3]):[0-9]{2}", re.ASCII)
A_DAY = 1440
MINUTES = {"": 1 / 60, "sec": 1 / 60, "min": 1, "hour": 60, "day": 1440, "week": 10080}


def at_most_minutes_from_now(option: Option | None) -> float | None:
    """Return `minutes_from_now`, and of a time of day, which is today or tomorrow, the most."""
    minutes = minutes_from_now(option)
    is_time_of_day = option is not None and OF_DAY.match(option.value.strip())
    return A_DAY if minutes is None and is_time_of_day else minutes


def at_least_minutes_from_now(option: Option | None) -> float:
    """Return `minutes_from_now`, and of a time of day, which is to come, the least."""
    minutes = minutes_from_now(option)
    is_time_of_day = option is not None and OF_DAY.match(option.value.strip())
    return max(MINUTES["sec"] if minutes is None and is_time_of_day else minutes or 0, 0)


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
