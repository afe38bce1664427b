"""The schedules of updates: cron(minute hour day month weekday year), in the forms AWS takes.

Source: the pattern of ScheduleExpression in the schema of AWS::SageMaker::Cluster; Amazon
EventBridge user guide, "Cron expressions".
"""

from __future__ import annotations

import calendar
import re
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

UNSET = "?"

_WEEKDAY = "MON|TUE|WED|THU|FRI|SAT|SUN|[1-7]"
_FORMS = {
    "minute": (r"[0-5]?[0-9]", "0 to 59"),
    "hour": (r"[01]?[0-9]|2[0-3]", "0 to 23"),
    "day": (r"0?[1-9]|[12][0-9]|3[01]|\?", "1 to 31, or ?"),
    "month": (r"0?[1-9]|1[0-2]|\*|\*/([1-9]|1[0-2])", "1 to 12, *, or */n"),
    "weekday": (rf"{_WEEKDAY}|[1-7]#[1-5]|[1-7]?L|\?", "MON to SUN, 1 to 7, 2#1, 6L, L, or ?"),
    "year": (r"20[2-9][0-9]|\*", "2020 to 2099, or *"),
}


@dataclass(frozen=True)
class Cron:
    """The six fields of a schedule, as they are written."""

    minute: str
    hour: str
    day: str
    month: str
    weekday: str
    year: str

    def wrong_fields(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, text and allowed values of each field that AWS does not take."""
        for field, text in zip(fields(self), astuple(self), strict=True):
            pattern, allowed = _FORMS[field.name]
            if not re.fullmatch(pattern, text):
                yield field.name, text, allowed

    def never_happens(self) -> bool:
        """Tell whether a well-formed schedule names a day that its month does not have."""
        if not (self.day.isdigit() and self.month.isdigit()):
            return False
        is_certain = self.year.isdigit()
        year = int(self.year) if is_certain else 2024  # a leap year, which comes again
        return int(self.day) > calendar.monthrange(year, int(self.month))[1]


def read_cron(expression: str) -> Cron | None:
    """Return the fields of `cron(...)`; None where there are not six of them."""
    parts = expression.removeprefix("cron(").removesuffix(")").split(" ")
    return Cron(*parts) if len(parts) == len(_FORMS) else None
