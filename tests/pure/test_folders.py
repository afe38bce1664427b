from __future__ import annotations

import pytest

from slurmpod.folders import NODE_OPTIONS, node_options


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, NODE_OPTIONS),
        ("", NODE_OPTIONS),
        ("--max-semi-space-size=16", f"{NODE_OPTIONS} --max-semi-space-size=16"),
        (NODE_OPTIONS, NODE_OPTIONS),
        (f"{NODE_OPTIONS} --trace-gc", f"{NODE_OPTIONS} --trace-gc"),
    ],
)
def test_options_that_are_given_hold_and_ours_stand_once(given: str | None, expected: str) -> None:
    assert node_options(given) == expected
