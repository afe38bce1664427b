from __future__ import annotations

import pytest

from slurmpod.rules.rds import minutes_of_backup, minutes_of_maintenance


@pytest.mark.parametrize(
    ("text", "minutes"), [("03:00-04:00", 60), ("23:45-00:15", 30), ("05:00-05:00", 0)]
)
def test_a_backup_may_go_past_midnight(text: str, minutes: int) -> None:
    window = minutes_of_backup(text)
    assert window is not None
    assert window.length == minutes


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("sun:05:00-sun:06:30", 90), ("sun:23:30-mon:00:30", 60), ("tue:00:00-mon:00:00", 8640)],
)
def test_maintenance_may_go_past_the_end_of_the_week(text: str, minutes: int) -> None:
    window = minutes_of_maintenance(text)
    assert window is not None
    assert window.length == minutes


@pytest.mark.parametrize(
    ("backup", "maintenance", "meet"),
    [
        ("03:00-04:00", "sun:04:00-sun:05:00", False),
        ("03:00-04:00", "sun:03:59-sun:05:00", True),
        ("03:00-04:00", "sun:02:00-sun:03:00", False),
        ("03:00-04:00", "sun:02:00-sun:03:01", True),
        ("23:30-00:30", "mon:00:00-mon:01:00", True),
        ("23:30-00:30", "mon:00:30-mon:23:30", False),
        ("23:30-00:30", "sun:23:00-sun:23:30", False),
        ("12:00-12:30", "sat:13:00-sun:13:00", True),
    ],
)
def test_windows_meet_or_not_on_whatever_day(backup: str, maintenance: str, meet: bool) -> None:
    daily, weekly = minutes_of_backup(backup), minutes_of_maintenance(maintenance)
    assert daily is not None
    assert weekly is not None
    assert daily.meets_daily(weekly) is meet
