from __future__ import annotations

import re

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from slurmpod.rules.volumes import Cron, read_cron

NUMBERS = ("0", "5", "05", "30", "59", "60", "7", "13", "24", "31", "32", "2027", "1999", "2100")
WEEKDAYS = ("MON", "SUN", "mon", "L", "2L", "2#1", "2#6")
OTHERS = ("*", "?", "*/2", "*/13", "1-5", "1,2", "")
PARTS = st.sampled_from([*NUMBERS, *WEEKDAYS, *OTHERS])


def pattern_of_aws() -> str:
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", "AWS::SageMaker::Cluster")
    update = schema.schema["definitions"]["ScheduledUpdateConfig"]["properties"]
    pattern: str = update["ScheduleExpression"]["pattern"]
    return pattern


PATTERN = re.compile(pattern_of_aws())


@given(st.tuples(PARTS, PARTS, PARTS, PARTS, PARTS, PARTS))
def test_what_passes_here_passes_the_schema_of_the_resource(parts: tuple[str, ...]) -> None:
    """The schema also takes empty fields, which no schedule means."""
    expression = f"cron({' '.join(parts)})"
    cron = read_cron(expression)
    assert cron is not None
    passes = not any(cron.wrong_fields())
    assert passes == bool(PATTERN.fullmatch(expression) and all(parts))


@pytest.mark.parametrize("text", ["cron()", "cron(0 3 ? * SUN)", "cron(0 3 ? * SUN * *)"])
def test_there_are_six_fields(text: str) -> None:
    assert read_cron(text) is None


def test_a_wrong_field_is_named_with_what_is_allowed() -> None:
    (wrong,) = Cron("0", "24", "?", "*", "SUN", "*").wrong_fields()
    assert wrong == ("hour", "24", "0 to 23")


@pytest.mark.parametrize(
    ("day", "month", "year", "never"),
    [
        ("31", "4", "*", True),
        ("30", "02", "*", True),
        ("29", "2", "*", False),
        ("29", "2", "2027", True),
        ("29", "2", "2028", False),
        ("31", "1", "*", False),
        ("31", "*", "*", False),
        ("?", "2", "*", False),
    ],
)
def test_days_that_no_month_has_never_come(day: str, month: str, year: str, never: bool) -> None:
    assert Cron("0", "3", day, month, "?", year).never_happens() is never
