from __future__ import annotations

import pytest

from slurmpod.environment.suggestion import did_you_mean


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("wroker", "did you mean 'worker'?"),
        ("WORKER", "did you mean 'worker'?"),
        ("lz4", "did you mean 'LZ4'?"),
        ("elephant", ""),
        ("", ""),
    ],
)
def test_the_nearest_choice_is_suggested(word: str, hint: str) -> None:
    assert did_you_mean(word, ["worker", "login", "LZ4"]) == hint
