"""Problems as a person reads them: place, what is wrong, the line with a caret, what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from slurmpod.problems import Problem, Severity, Where
from slurmpod.reading.secrets_in_text import (
    HIDDEN,
    HIDDEN_VALUE,
    lines_of_private_keys,
    without_secrets,
)
from slurmpod.reading.text_file import Unreadable, read_text

RED, YELLOW, BOLD, DIM = "31", "33", "1", "2"


def paint(text: str, style: str, stream: TextIO) -> str:
    """Colour `text` where `stream` is a terminal that shows colours (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{style}m{text}\x1b[0m"


WIDTH = 100
"""Longest piece of a line that is shown above a caret."""


def problems_text(problems: Sequence[Problem], stream: TextIO) -> str:
    """Return all problems as text, in colour where `stream` shows it."""
    lines = {file: _lines(file) for file in {problem.where.file for problem in problems}}
    return "\n\n".join(
        _problem_text(problem, lines[problem.where.file], stream) for problem in problems
    )


def _problem_text(problem: Problem, lines: Sequence[str], stream: TextIO) -> str:
    where = problem.where
    colour = RED if problem.severity is Severity.ERROR else YELLOW
    place = paint(_printable(str(where)), BOLD, stream)
    severity = paint(problem.severity, colour, stream)
    about = f"{where.path}: " if where.path else ""
    message = _printable(f"{about}{problem.message} [{problem.rule}]")
    fix = _printable(f"  fix: {problem.fix}")
    excerpt = _excerpt(where, lines, stream, hidden=HIDDEN_VALUE in problem.message)
    return "\n".join((f"{place}: {severity}: {message}", *excerpt, fix))


def _excerpt(where: Where, lines: Sequence[str], stream: TextIO, *, hidden: bool) -> list[str]:
    """Return the line of the file and a caret below the column; nothing for an empty line.

    The text at the column is left out if it is `hidden`.
    """
    line = lines[where.line - 1] if where.line <= len(lines) else ""
    if not line.strip():
        return []
    if hidden:
        line = line[: where.column - 1] + HIDDEN_VALUE
    start = max(0, where.column - WIDTH // 2) if len(line) > WIDTH else 0
    shown = line[start : start + WIDTH].rstrip()
    gutter = f"{where.line:>5} | "
    caret = " " * (len(gutter) + where.column - 1 - start) + "^"
    return [paint(gutter, DIM, stream) + _one_column_each(shown), paint(caret, BOLD, stream)]


def _printable(text: str) -> str:
    """Replace control characters, such as an escape, with their codes."""
    if text.isprintable():
        return text
    return "".join(part if part.isprintable() else ascii(part)[1:-1] for part in text)


def _one_column_each(text: str) -> str:
    """Replace tabs and control characters by one space, so that the caret fits the column."""
    return "".join(character if character.isprintable() else " " for character in text)


def _lines(file: str) -> list[str]:
    """Return the lines of a file without private keys and passwords."""
    try:
        lines = read_text(Path(file)).splitlines()
    except Unreadable:
        return []
    hidden = lines_of_private_keys(lines)
    return [
        HIDDEN if number in hidden else without_secrets(line)
        for number, line in enumerate(lines, start=1)
    ]
