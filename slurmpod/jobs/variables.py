"""What the variables of a script hold, as far as the script says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmpod.jobs.tokens import NESTED
from slurmpod.jobs.words import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmpod.jobs.words import Word

    Values = Mapping[str, Sequence[str]]
    """All that the script sets a variable to, each once; of a list, what is in its parentheses."""

VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)(?:\[[@*]\])?(?::?[-+][^}]*)?\}?")
LOOKUP = r"\s*(?:which|command\s+-v|type\s+-p)\s"
COMPUTED = re.compile(rf"\s*(?:\$\((?!{LOOKUP}){NESTED}\)|`(?!{LOOKUP})[^`]*+`)(?:\s|$)")
"""A value whose first word is what a command prints, unless that is the path of a program."""


def values_of(word: Word, values: Values) -> Sequence[str] | None:
    """Return what a word that is one variable holds at any time; None for any other word."""
    variable = VARIABLE.fullmatch(word.text)
    return values.get(variable[1], ()) if variable else None


def holds_options(held: Sequence[str]) -> bool:
    """Tell whether a variable that is set to these values is options, or nothing."""
    firsts = [command[0] for value in held for command in read(value).commands[:1]]
    return bool(held) and all(word.text.startswith("-") for word in firsts)


def is_unknown(held: Sequence[str]) -> bool:
    """Tell whether nobody knows what is held: the script sets nothing, or what a command prints."""
    return not held or any(COMPUTED.match(value) for value in held)
