"""The highest number that simple shell arithmetic with $RANDOM can give."""

from __future__ import annotations

import re

HIGHEST_RANDOM = 32767
"""bash(1): RANDOM is between 0 and 32767."""

TERM = r"\s*(?:\$?\{?(RANDOM)\}?|([0-9]{1,9}))\s*(?:%\s*([0-9]{1,9})\s*)?"
SUM = re.compile(rf"\$\(\(({TERM}(?:\+{TERM})*)\)\)", re.ASCII)
ONE_TERM = re.compile(TERM, re.ASCII)
NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


def highest(value: str) -> int | None:
    """Return the most that a number, or a sum such as `$((RANDOM % 1000 + 29500))`, can be.

    None for everything else: other variables, parentheses, other operators.
    """
    if NUMBER.fullmatch(value):
        return int(value)
    match = SUM.fullmatch(value)
    if not match:
        return None
    return sum(
        _most(*term.groups()) for term in map(ONE_TERM.fullmatch, match[1].split("+")) if term
    )


def _most(random: str | None, number: str | None, modulus: str | None) -> int:
    most = HIGHEST_RANDOM if random else int(number or 0)
    if not modulus or not int(modulus):
        return most
    return min(most, int(modulus) - 1) if random else most % int(modulus)
