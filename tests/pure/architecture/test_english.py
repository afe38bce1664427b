"""The handbook is in plain English: no page has phrases that no native engineer would write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

from tests.golden_files import ROOT

PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
}
PHRASES = (
    "all the same",
    "anew",
    "anybody",
    "by halves",
    "cannot be had",
    "everybody",
    "in vain",
    "lately",
    "lies",
    "made again",
    "mend",
    "mended",
    "mends",
    "of yours",
    "once more",
    "somebody",
    "stands for",
    "taken away",
    "tells",
    "told",
    "what stands",
    "whoever",
)


def phrases_in(text: str, phrases: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the phrases in a text, also those across two lines, each with its line number."""
    for phrase in phrases:
        words = r"\s+".join(phrase.split())
        pattern = rf"(?<!\w){words}(?!\w)"
        for found in re.finditer(pattern, text, re.IGNORECASE):
            yield text.count("\n", 0, found.start()) + 1, phrase


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_in_plain_english(page: str) -> None:
    found = [f"{page}:{line}: {phrase!r}" for line, phrase in phrases_in(PAGES[page], PHRASES)]
    assert not found, f"say it in plain English: {', '.join(found)}"


def test_a_phrase_is_found_across_two_lines_and_not_within_words() -> None:
    text = "It waits in\nvain, amends nothing.\nWhoever reads this, mend it.\n"
    phrases = ("in vain", "mend", "mends", "whoever")
    assert sorted(phrases_in(text, phrases)) == [(1, "in vain"), (3, "mend"), (3, "whoever")]
