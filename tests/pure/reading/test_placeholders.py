"""Texts that are to be filled in are found, and those that only look like them are not."""

from __future__ import annotations

import pytest

from slurmpod.reading.placeholders import PLACEHOLDER


@pytest.mark.parametrize(
    "text",
    [
        "123456789012",
        "oncall@example.com",
        "ml@team.test",
        "you@your-company.com",
        "CHANGE_ME@corp.io",
        "changeme",
        "replace-me-bucket",
        "your-email@corp.io",
        "your-bucket",
    ],
)
def test_what_is_to_be_filled_in_is_found(text: str) -> None:
    assert PLACEHOLDER.search(text)


@pytest.mark.parametrize(
    "text", ["210987654321", "oncall@corp.io", "exchange-media", "your-bucketeers", "example"]
)
def test_what_is_somebodys_own_is_not(text: str) -> None:
    assert not PLACEHOLDER.search(text)
