"""Values of changes, as `slurmpod diff` shows them."""

from __future__ import annotations

from typing import Any

import pytest

from slurmpod.cli.changes_text import values_text

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
