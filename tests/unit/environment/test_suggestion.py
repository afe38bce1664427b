from __future__ import annotations

import pytest

from slurmpod.environment.suggestion import did_you_mean, is_mistyped


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


@pytest.mark.parametrize(
    ("written", "meant", "mistyped"),
    [
        ("Automtic", "Automatic", True),
        ("Autommatic", "Automatic", True),
        ("Automatix", "Automatic", True),
        ("Automatic", "Automatic", False),
        ("PERSISTENT_3", "PERSISTENT_2", False),
        ("PERSISTENT_22", "PERSISTENT_2", False),
        ("DrainFirst", "WhenIdle", False),
    ],
)
def test_one_wrong_letter_is_a_mistake_and_another_number_is_not(
    written: str, meant: str, mistyped: bool
) -> None:
    assert is_mistyped(written, meant) is mistyped
