"""A line of `scontrol --oneliner show`, which has all there is to know of one thing. Pure."""

from __future__ import annotations

import re


def value_of(line: str, name: str) -> str:
    """Return a field of what `scontrol --oneliner show` prints; empty where it has none."""
    found = re.search(rf"(?:^|\s){name}=(.*?)(?=\s+\w[\w:/.]*=|\s*$)", line)
    return "" if not found or found[1] in ("(null)", "None") else found[1]
