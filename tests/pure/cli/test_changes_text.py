"""Values of changes, as `slurmpod diff` shows them."""

from __future__ import annotations

from typing import Any

import pytest

from slurmpod.changes.change import Change
from slurmpod.cli.changes_text import as_data, changes_text, values_text
from slurmpod.environment.base import IN_PLACE, Effect, Kind
from slurmpod.reading.yaml_source import YamlSource

GROUP = {"name": "hands", "role": "worker", "count": 2, "partition": None, "ebs": {}}
LONG = [f"subnet-0123456789abcdef{number}" for number in range(9)]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (None, 2, "nothing -> 2"),
        ("us-west-2b", "us-west-2c", '"us-west-2b" -> "us-west-2c"'),
        (["a", "b"], ["a"], '["a", "b"] -> ["a"]'),
        (None, GROUP, "nothing -> 3 keys: name, role, count"),
        (
            {"team": "vision", "cost": "42"},
            {"team": "vision", "cost": "43", "site": "north"},
            "2 keys: team, cost -> 3 keys: team, cost, site (new: site; changed: cost)",
        ),
        (
            LONG[:8],
            [*LONG[1:8], LONG[8]],
            f"8 entries: {', '.join(LONG[1:4])} and 5 more (new: {LONG[8]}; gone: {LONG[0]})",
        ),
        (LONG, list(reversed(LONG)), "(in another order)"),
        ({"a": 1}, {}, "1 key: a -> no keys (gone: a)"),
        ([GROUP] * 1, [GROUP, {"uid": 7}], "2 entries: hands, number 2 (new: number 2)"),
        (None, "x" * 300, "nothing -> a text of 300 characters"),
    ],
)
def test_long_values_are_counted_and_named(old: Any, new: Any, shown: str) -> None:
    assert values_text(old, new).endswith(shown)
    assert "..." not in shown


def test_a_change_says_who_says_so_and_what_nobody_says() -> None:
    effects = (
        Effect(Kind.REFUSED, "no", source="the guide", doubt="whether it ever helps"),
        Effect(Kind.REFUSED, "no", doubt="all of it"),
        IN_PLACE,
    )
    found = [Change(f"field{n}", (), 1, 2, effect) for n, effect in enumerate(effects)]
    shown = changes_text(found, "dev", YamlSource("dev.yaml")).split("field")
    assert "  source: the guide\n  not proven: whether it ever helps\n" in shown[1]
    assert "  not proven: all of it\n" in shown[2]
    assert [("source:" in each, "not proven:" in each) for each in shown[1:]] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert as_data(found[0])["doubt"] == "whether it ever helps"
