"""The number of cases of tests that search for bugs with random input."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import settings

Cases = TypeVar("Cases", bound="int | tuple[object, ...]")

REPEATABLE, DEEP = "repeatable", "deep"

settings.register_profile(REPEATABLE, deadline=None, derandomize=True)
settings.register_profile(DEEP, deadline=None, max_examples=500, print_blob=True)


def cases(*, usual: Cases, deep: Cases) -> Cases:
    """Return the number of cases, or their selection.

    `make test-all` tries the same cases for the same commit. `make test-deep` tries more cases,
    different each time; a failing one is printed with the line that repeats it.
    """
    return deep if settings.get_current_profile_name() == DEEP else usual
