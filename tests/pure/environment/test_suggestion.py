from __future__ import annotations

import pytest

from slurmpod.environment.suggestion import did_you_mean, is_mistyped, nearest


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


@pytest.mark.parametrize(
    ("written", "meant"), [("91", "90"), ("29", "30"), ("1000", "1096"), ("9", None), ("50", None)]
)
def test_of_numbers_the_nearest_by_size_is_meant(written: str, meant: str | None) -> None:
    assert nearest(written, ["1", "3", "30", "60", "90", "1096"]) == meant


def test_of_two_numbers_alike_the_greater_is_meant() -> None:
    assert nearest("2025", ["2024", "2026"]) == "2026"
