"""Did you mean ...? The nearest of the allowed words, for whoever mistyped one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return `did you mean 'worker'?`, or nothing where no choice is near; case does not count."""
    import difflib  # only needed on mistakes

    by_lower_case = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return f"did you mean '{by_lower_case[near[0]]}'?" if near else ""
