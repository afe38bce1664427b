"""Passwords and the like that somebody wrote where only the name of a secret belongs.

No field of an environment holds a secret: those that have to do with one take an ARN. Whatever else
stands there, or below a key of such a name, is shown nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN_VALUE = "(not shown: it may be a secret)"
"""What is shown in its place."""

_NAME = r"passw(?:or)?d|passphrase|secret|token|credential|private_?key|api_?key"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_ARN_NAME = re.compile(r"_arns?$")
_USER_IN_URI = re.compile(r"(?<=://)[^\s/@'\"]*:[^\s/@'\"]*@")
_HARMLESS = re.compile(r"['\"]?arn:|[\[{&*!|>]|null\b|~|true\b|false\b", re.IGNORECASE)
_ENTRY = re.compile(
    rf"(?P<key>(?<![\w-])[\w-]*(?:(?:{_NAME})[\w-]*|_arns?)['\"]?\s*:\s+)"
    r"(?P<value>\"[^\"]*\"?|'[^']*'?|[^\s,}\]#][^,}\]#]*)",
    re.IGNORECASE,
)


def may_be_secret(path: Sequence[str | int], value: object, *, takes_arn: bool = False) -> bool:
    """Tell whether a value is better not shown: by its path, its look, and what belongs there."""
    if not isinstance(value, str) or _HARMLESS.match(value):
        return False
    if _USER_IN_URI.search(value) or takes_arn:
        return True
    names = [part for part in path if isinstance(part, str)]
    return any(_SECRET_NAME.search(name) or _ARN_NAME.search(name) for name in names[-2:])


def without_secrets(line: str) -> str:
    """Return a line of YAML as it can be shown: asterisks leave every column where it was."""
    shown = _USER_IN_URI.sub(lambda user: "*" * len(user[0]), line)
    return _ENTRY.sub(_hidden, shown)


def _hidden(entry: re.Match[str]) -> str:
    value = entry["value"]
    return entry[0] if _HARMLESS.match(value) else entry["key"] + "*" * len(value)
