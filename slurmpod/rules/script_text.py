"""The text of scripts as rules look at it: line by line, with the place of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.reading.own_scripts import OwnScripts

NO_SCRIPTS = (".json", ".md", ".txt", ".csv", ".html", ".conf", ".yaml", ".yml")
"""Endings of files that are text, but nothing that runs."""

COMMENT = re.compile(r"(^|\s)#.*")


@dataclass(frozen=True)
class Line:
    """A line as a shell takes it: without comment, and with the lines that continue it."""

    path: str
    number: int
    text: str

    def __str__(self) -> str:
        """Return the place as editors understand it."""
        return f"{self.path}:{self.number}"


def lines_of(scripts: OwnScripts) -> Iterator[Line]:
    """Yield the lines of every script in a folder."""
    for path, content in scripts.files.items():
        yield from lines_in(path, text_of(content) or "")


def lines_in(path: str, text: str) -> Iterator[Line]:
    """Yield the lines of one file; none where its name says that it does not run."""
    if path.lower().endswith(NO_SCRIPTS):
        return
    parts: list[str] = []
    for number, written in enumerate((*text.splitlines(), ""), start=1):
        line = COMMENT.sub("", written)
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield Line(path, number - len(parts) + 1, " ".join(parts))
            parts.clear()


def text_of(content: bytes) -> str | None:
    """Return the text of a file, or None for one that is no text."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
