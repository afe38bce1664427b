"""The part of a handwritten page that is generated: what is between two marks."""

from __future__ import annotations


def with_part(page: str, begin: str, end: str, text: str) -> str:
    """Return a page with `text` between its two marks, which stay.

    Raises ValueError if a mark is not there exactly once: its page and its generator differ.
    """
    for mark in (begin, end):
        if page.count(mark) != 1:
            raise ValueError(f"the page has {page.count(mark)} times, and not once: {mark}")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{text}{end}{after}"
