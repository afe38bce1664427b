"""A line of `scontrol --oneliner show`, which has all fields of one object. Pure."""

from __future__ import annotations

import re


def value_of(line: str, name: str) -> str:
    """Return a field of a line from `scontrol --oneliner show`; empty if it is missing."""
    found = re.search(rf"(?:^|\s){name}=(.*?)(?=\s+\w[\w:/.]*=|\s*$)", line)
    return "" if not found or found[1] in ("(null)", "None") else found[1]
