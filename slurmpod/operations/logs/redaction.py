"""Redaction of secrets in logs, recognized by their form or their name. Pure.

Forms: AWS IAM user guide, "IAM identifiers" (AKIA, ASIA); GitHub, "About authentication to
GitHub"; Hugging Face and Weights & Biases, whose keys jobs print; RFC 7519 (JWT). What has neither
a known form nor such a name is not found: read an archive before you share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from slurmpod.reading.secrets_in_text import HIDDEN, HIDDEN_VALUE, lines_of_private_keys

_NAMED = re.compile(
    r"""(?ix)
    (?P<name>[\w-]*(?:passw(?:or)?d|passphrase|secret|token|credential|api[_-]?key|access[_-]?key
      |private[_-]?key|storagepass|signature|authorization|cookie)[\w-]*["']?
      \s*(?:=|:|\s--?\s)\s*)
    (?P<value>"[^"]*"|'[^']*'|(?:bearer|basic)\s+\S+|[^\s,;&"']+)
    """
)
"""A name, a sign and a value, as in YAML, JSON, URLs, variables and options."""

_OPTION = re.compile(
    r"(?i)(?P<name>--?[\w-]*(?:password|passphrase|secret|token|api-key)[\w-]*\s+)(?P<value>[^\s-]\S*)"
)
_FORMS = re.compile(
    r"""(?x)
    \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \b(?:gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,} | hf_[A-Za-z0-9]{20,})
    | \b(?:glsa|xox[abpr]|sk)[-_][A-Za-z0-9_-]{20,}
    | \beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*
    | (?<=://)[^\s/@'"]*:[^\s/@'"]*(?=@)
    | (?<![A-Za-z0-9+/=])(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*[A-Z])(?=[A-Za-z0-9+/]*\d)
      [A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])
    """
)
"""The last is a secret access key: forty mixed letters, digits and signs on their own."""

_SAFE = re.compile(r"(?i)^[\"']?(?:arn:|none\b|null\b|true\b|false\b|\(null\)|\d{1,6}\b|$)")


def redacted(texts: Iterable[str]) -> list[str]:
    """Return lines of one log without their secrets, including multi-line private keys."""
    lines = list(texts)
    hidden = lines_of_private_keys(lines)
    return [HIDDEN if number in hidden else _redacted(line) for number, line in enumerate(lines, 1)]


def _redacted(line: str) -> str:
    for pattern in (_NAMED, _OPTION):
        line = pattern.sub(_without_value, line)
    return _FORMS.sub(HIDDEN_VALUE, line)


def _without_value(found: re.Match[str]) -> str:
    if _SAFE.match(found["value"]):
        return found[0]
    return f"{found['name']}{HIDDEN_VALUE}"
