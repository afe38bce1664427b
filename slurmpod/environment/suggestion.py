"""Did you mean ...? The nearest of the allowed words, for whoever mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return `did you mean 'worker'?`, or nothing where no choice is near; case does not count."""
    near = nearest(word, choices)
    return f"did you mean '{near}'?" if near else ""


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is nearest to a word, or None where none is near."""
    return _nearest(word, tuple(choices))


@lru_cache(maxsize=256)
def _nearest(word: str, choices: tuple[str, ...]) -> str | None:
    """Return the nearest one, and keep it: a file with mistakes is judged several times."""
    import difflib  # only needed on mistakes

    by_lower_case = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return by_lower_case[near[0]] if near else None
