"""Times in logs -> Unix seconds."""

from __future__ import annotations

import re
from calendar import timegm

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FORMS = (
    re.compile(
        r"(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>\d\d)"
        r" (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)",
        re.A,
    ),
    re.compile(
        rf"\w{{3}} (?P<month>{'|'.join(MONTHS)}) (?P<day>[ \d]\d)"
        r" (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d) (?P<year>\d{4})",
        re.A,
    ),
)
"""Python's logging and Megatron-LM's; asctime of C."""


def printed_time(text: str | None) -> float | None:
    """Return a time, taken as UTC: only differences count. None for anything else."""
    for form in FORMS:
        if found := form.fullmatch(text or ""):
            month = found["month"]
            number = MONTHS.index(month) + 1 if month in MONTHS else int(month)
            clock = (int(found[each]) for each in "hms")
            return float(timegm((int(found["year"]), number, int(found["day"]), *clock)))
    return None
