"""What rules look for in the text of scripts: lines that say something, with their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from slurmpod.model.own_scripts import OwnScripts

NO_SCRIPTS = (".json", ".md", ".txt", ".csv", ".html", ".conf", ".yaml", ".yml")
"""Endings of files that are text, but nothing that runs."""


@dataclass(frozen=True)
class Line:
    """A line in one of the files; `found` is the part that was looked for."""

    path: str
    number: int
    found: str

    def __str__(self) -> str:
        """Return the place as editors understand it."""
        return f"{self.path}:{self.number}"


def lines_with(scripts: OwnScripts, pattern: re.Pattern[str]) -> Iterator[Line]:
    """Yield the first place in each line of every script that `pattern` finds, but for comments."""
    for path in scripts.files:
        for number, line in enumerate(_lines(scripts, path), start=1):
            match = pattern.search(line)
            if match and not line.lstrip().startswith("#"):
                yield Line(path, number, match.group())


def text_of(content: bytes) -> str | None:
    """Return the text of a file, or None for one that is no text."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _lines(scripts: OwnScripts, path: str) -> list[str]:
    if path.lower().endswith(NO_SCRIPTS):
        return []
    return (text_of(scripts.files[path]) or "").splitlines()
