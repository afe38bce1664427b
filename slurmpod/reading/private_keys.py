"""Private keys that somebody pasted where a public one belongs: recognised, and shown nowhere.

Whatever shows a part of a user's file asks here first: messages, excerpts, `--json`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from slurmpod.problems import YamlPath, format_path

HIDDEN = "(not shown: it looks like a private key)"
"""What is shown in its place."""

FOUND = "a private key stands here, or a piece of one"
REMOVE = "remove it, make a new pair of keys, and write the public one: the file *.pub"
"""What to say about one, and what to do: somebody else may have read it by now."""

_BEGIN = re.compile(r"-+BEGIN [A-Z0-9 ]*PRIVATE KEY|PuTTY-User-Key-File-|b3BlbnNzaC1rZXktdj")
"""PEM (RFC 7468) and OpenSSH, PuTTY, and OpenSSH's without its first line (PROTOCOL.key)."""

_END = re.compile(r"-+END [A-Z0-9 ]*PRIVATE KEY|^\s*Private-MAC:|^\s*Private-Hash:")

_BODY = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{60,}={0,2}(?![A-Za-z0-9+/=])")
"""A line of a key: private ones are written in lines of 64 or 70 characters, paths are not."""

_PUBLIC = re.compile(r"AAAA[A-Za-z0-9]{2}(NzaC1|VjZHNhL|NrLW|NrLX)")
"""How public keys begin: with the length and the name of their type (ssh-, ecdsa-, sk-)."""

_CERTIFICATE = re.compile(r"-+BEGIN CERTIFICATE-.*?(-+END CERTIFICATE-+|\Z)", re.DOTALL)

_PART_OF_A_KEY = re.compile(r"[\s'\"|,-]*[A-Za-z0-9+/=]*[\s'\",]*$|[\s'\"-]*[A-Z][A-Za-z-]*:\s")
"""A line that can lie inside a private key: base64, one of its headers, or the line after these."""


def holds_private_key(text: str) -> bool:
    """Tell whether a private key, or a piece of one, is in a text that somebody wrote."""
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
    """Write a path as messages show it: without what somebody pasted as a key of a mapping."""
    parts = (HIDDEN if holds_private_key(str(part)) else part for part in path)
    return format_path(tuple(parts))


def _is_mixed(text: str) -> bool:
    """Tell base64 from a word or a number: it has letters of both kinds and digits."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(kind(character) for character in text) for kind in kinds)
