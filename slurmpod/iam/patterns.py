"""Texts in policies: wildcards, and variables that the request fills in."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ARN_PARTS = 6
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_WITH_DEFAULT = re.compile(r"([^,]*),\s*'(.*)'")
_LITERAL_CHARACTERS = frozenset("*?$")


class Unfillable(Exception):
    """The request has no single value for a variable: what holds it matches nothing."""


def action_matches(pattern: str, action: str) -> bool:
    """Tell whether an action is meant; case does not matter."""
    return bool(_glob(pattern.lower()).fullmatch(action.lower()))


def like(pattern: str, text: str, values: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether `text` is what `pattern` says, with wildcards and variables."""
    if "${" not in pattern:
        return bool(_glob(pattern).fullmatch(text))
    try:
        return bool(re.fullmatch(_filled(pattern, values), text, re.DOTALL))
    except Unfillable:
        return False


def arn_like(pattern: str, arn: str, values: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether an ARN is meant: each of its six parts is compared for itself."""
    patterns = _VARIABLE.sub(lambda match: match[0].replace(":", "\0"), pattern).split(":", 5)
    parts = arn.split(":", ARN_PARTS - 1)
    if len(patterns) != ARN_PARTS or len(parts) != ARN_PARTS:
        return False
    return all(
        like(wanted.replace("\0", ":"), part, values)
        for wanted, part in zip(patterns, parts, strict=True)
    )


def filled(text: str, values: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return `text` with its variables filled in, wildcards as they are; None if one is missing."""
    try:
        return _VARIABLE.sub(lambda match: _value(match[1], values), text)
    except Unfillable:
        return None


@lru_cache(maxsize=4096)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(_expression(pattern), re.DOTALL)


def _expression(pattern: str) -> str:
    """Return a pattern with wildcards as a regular expression."""
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")


def _filled(pattern: str, values: Mapping[str, tuple[str, ...]]) -> str:
    """Return a regular expression: stars in a variable's value are no wildcards."""
    expression, position = "", 0
    for match in _VARIABLE.finditer(pattern):
        expression += _expression(pattern[position : match.start()])
        expression += re.escape(_value(match[1], values))
        position = match.end()
    return expression + _expression(pattern[position:])


def _value(variable: str, values: Mapping[str, tuple[str, ...]]) -> str:
    if variable in _LITERAL_CHARACTERS:
        return variable
    with_default = _WITH_DEFAULT.fullmatch(variable)
    key, default = with_default.groups() if with_default else (variable, None)
    found = values.get(key.strip().lower(), ())
    if len(found) == 1:
        return found[0]
    if default is None or found:
        raise Unfillable(variable)
    return default
