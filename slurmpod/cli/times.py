"""Times on the command line: how long ago, or a timestamp."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

HOW_TO_SAY = "write 30m, 2h, 3d, or a time such as 2026-11-23T14:00"
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def parse_time(text: str, now: datetime) -> datetime | None:
    """Parse `30m`, `2h`, `3d`, or an ISO 8601 time (UTC by default); None if invalid."""
    if found := re.fullmatch(r"(\d{1,5})([mhd])", text):
        return now - timedelta(**{_UNITS[found[2]]: int(found[1])})
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
