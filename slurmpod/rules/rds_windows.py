"""The windows of an RDS server, as minutes of a week; all of them in UTC."""

from __future__ import annotations

from dataclasses import dataclass

SHORTEST_MINUTES = 30

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES_OF_A_DAY = 24 * 60
MINUTES_OF_A_WEEK = len(DAYS) * MINUTES_OF_A_DAY


@dataclass(frozen=True)
class Window:
    """A stretch of time that comes again; one that ends before it begins goes past midnight."""

    start: int
    length: int

    def meets_daily(self, weekly: Window) -> bool:
        """Tell whether this window, every day, and one that is once a week share a minute."""
        since_start = (weekly.start - self.start) % MINUTES_OF_A_DAY
        return since_start < self.length or since_start + weekly.length > MINUTES_OF_A_DAY


def minutes_of_backup(text: str | None) -> Window | None:
    """Return a window such as 03:00-04:00."""
    if text is None:
        return None
    start, end = (_minutes(time) for time in text.split("-"))
    return Window(start, (end - start) % MINUTES_OF_A_DAY)


def minutes_of_maintenance(text: str | None) -> Window | None:
    """Return a window such as sun:05:00-sun:06:00."""
    if text is None:
        return None
    start, end = (_minutes_of_week(moment) for moment in text.split("-"))
    return Window(start, (end - start) % MINUTES_OF_A_WEEK)


def _minutes_of_week(moment: str) -> int:
    day, _, time = moment.partition(":")
    return DAYS.index(day) * MINUTES_OF_A_DAY + _minutes(time)


def _minutes(time: str) -> int:
    hours, _, minutes = time.partition(":")
    return int(hours) * 60 + int(minutes)
