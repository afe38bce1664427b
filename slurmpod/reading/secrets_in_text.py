"""Secrets in places where they do not belong: private keys, passwords and the like.

They are recognised and never shown: messages, excerpts and `--json` check here before they show a
part of a user's file. No field of an environment holds a secret; related fields take an ARN.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from slurmpod.problems import YamlPath, format_path

HIDDEN = "(not shown: it looks like a private key)"
"""Replacement for a secret."""

FOUND = "this is a private key, or a part of one"
REMOVE = "remove it, generate a new pair of keys, and write the public one: the file *.pub"
"""Message and fix: others may have read it by now."""

_BEGIN = re.compile(r"-+BEGIN [A-Z0-9 ]*PRIVATE KEY|PuTTY-User-Key-File-|b3BlbnNzaC1rZXktdj")
"""PEM (RFC 7468) and OpenSSH, PuTTY, and OpenSSH's without its first line (PROTOCOL.key)."""

_END = re.compile(r"-+END [A-Z0-9 ]*PRIVATE KEY|^\s*Private-MAC:|^\s*Private-Hash:")

_BODY = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{60,}={0,2}(?![A-Za-z0-9+/=])")
"""A line of a key: private ones are written in lines of 64 or 70 characters, paths are not."""

_PUBLIC = re.compile(r"AAAA[A-Za-z0-9]{2}(NzaC1|VjZHNhL|NrLW|NrLX)")
"""How public keys begin: with the length and the name of their type (ssh-, ecdsa-, sk-)."""

_CERTIFICATE = re.compile(r"-+BEGIN CERTIFICATE-.*?(-+END CERTIFICATE-+|\Z)", re.DOTALL)

_PART_OF_A_KEY = re.compile(r"[\s'\"|,-]*[A-Za-z0-9+/=]*[\s'\",]*$|[\s'\"-]*[A-Z][A-Za-z-]*:\s")
"""A line that can be part of a private key: base64, one of its headers, or the line after these."""


def holds_private_key(text: str) -> bool:
    """Return whether a text contains a private key, or a part of one."""
    if _BEGIN.search(text):
        return True
    bodies = _BODY.findall(_CERTIFICATE.sub("", text))
    return any(_is_mixed(body) and not _PUBLIC.match(body) for body in bodies)


def lines_of_private_keys(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers, from 1, of the lines that must not be shown."""
    found = {number for number, line in enumerate(lines, start=1) if holds_private_key(line)}
    inside = False
    for number, line in enumerate(lines, start=1):
        inside = bool(_BEGIN.search(line)) or (inside and bool(_PART_OF_A_KEY.match(line)))
        ends = bool(_END.search(line))
        if inside or ends:
            found.add(number)
        inside = inside and not ends
    return frozenset(found)


def shown_path(path: YamlPath) -> str:
    """Format a path for messages, without secrets that were pasted as keys of a mapping."""
    parts = (HIDDEN if holds_private_key(str(part)) else part for part in path)
    return format_path(tuple(parts))


def _is_mixed(text: str) -> bool:
    """Return whether a text is base64: it has digits and letters of both cases."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(kind(character) for character in text) for kind in kinds)


TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}"
    r"|A[KS]IA[A-Z0-9]{16}|sk-(?=[\w-]*\d)[\w-]{20,}|glpat-[\w-]{20,}|xox[abp]-[\w-]{20,})",
    re.ASCII,
)
"""Keys of Hugging Face, GitHub, AWS, OpenAI, GitLab and Slack, by how they begin."""

HIDDEN_VALUE = "(not shown: it may be a secret)"
"""Replacement for a secret."""

_NAME = r"passw(?:or)?d|passphrase|secret|token|credential|private_?key|api_?key"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_ARN_NAME = re.compile(r"_arns?$")
_USER_IN_URI = re.compile(r"(?<=://)[^\s/@'\"]*:[^\s/@'\"]*@")
_HARMLESS = re.compile(r"['\"]?(arn:|alias/)|[\[{&*!|>]|null\b|~|true\b|false\b", re.IGNORECASE)
_ENTRY = re.compile(
    rf"(?P<key>(?<![\w-])[\w-]*(?:(?:{_NAME})[\w-]*|_arns?)['\"]?\s*:\s+)"
    r"(?P<value>\"[^\"]*\"?|'[^']*'?|[^\s,}\]#][^,}\]#]*)",
    re.IGNORECASE,
)


def may_be_secret(path: Sequence[str | int], value: object, *, takes_arn: bool = False) -> bool:
    """Return whether a value must not be shown, by its path, form and field."""
    if not isinstance(value, str) or _HARMLESS.match(value):
        return False
    if _USER_IN_URI.search(value) or TOKEN.search(value) or takes_arn:
        return True
    names = [part for part in path if isinstance(part, str)]
    return any(_SECRET_NAME.search(name) or _ARN_NAME.search(name) for name in names[-2:])


def without_secrets(line: str) -> str:
    """Return a line of YAML with secrets replaced by asterisks, which keep all columns."""
    shown = line
    for form in (_USER_IN_URI, TOKEN):
        shown = form.sub(lambda found: "*" * len(found[0]), shown)
    return _ENTRY.sub(_hidden, shown)


def _hidden(entry: re.Match[str]) -> str:
    value = entry["value"]
    return entry[0] if _HARMLESS.match(value) else entry["key"] + "*" * len(value)
