"""Suggestions ("did you mean ...?"): the closest of the allowed words."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return `did you mean 'worker'?`, or nothing if no choice is close; case is ignored."""
    near = nearest(word, choices)
    return f"did you mean '{near}'?" if near else ""


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice closest to a word, or None."""
    return _nearest(word, tuple(choices))


@lru_cache(maxsize=256)
def _nearest(word: str, choices: tuple[str, ...]) -> str | None:
    """Return the closest match (cached: the same file may be checked several times)."""
    import difflib  # only needed on mistakes

    if choices and all(each.isdecimal() for each in (word, *choices)):
        return _nearest_number(word, choices)
    by_lower_case = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return by_lower_case[near[0]] if near else None


def _nearest_number(word: str, choices: tuple[str, ...]) -> str | None:
    """Return the closest number, the greater of two, if it differs by less than a tenth."""
    between = {choice: abs(int(choice) - int(word)) for choice in choices}
    near = min(choices, key=lambda choice: (between[choice], -int(choice)))
    return near if between[near] * 10 < int(near) else None


def is_mistyped(written: str, meant: str) -> bool:
    """Return whether one letter is wrong, missing or extra; another digit is another name."""
    if written == meant:
        return False
    start = _common(written, meant)
    one, other = written[start:], meant[start:]
    end = _common(one[::-1], other[::-1])
    rest = one[: len(one) - end], other[: len(other) - end]
    return all(len(part) < 2 and not part.isdigit() for part in rest)


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
