"""Problems: what is wrong, where, and what to do. All parts of slurmpod report them in this form.

A problem names a place in the user's file, so that an editor can jump to it, and a fix, so that
users need not search. Parts never raise for bad input; they return problems, all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from enum import IntEnum, StrEnum

from slurmpod.value import Value

YamlPath = tuple[str | int, ...]
"""Keys and list indexes from the top of a document: `("cluster", "groups", 2, "count")`."""


class Severity(StrEnum):
    """The severity of a problem: an error stops everything, a warning is shown and passed.

    A note explains a consequence of a setting that is probably intended.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class ExitCode(IntEnum):
    """The exit codes of `slurmpod`, as documented in the README."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INVALID = 3
    UNPREPARED = 4
    INTERRUPTED = 130
    UNREAD = 141


class Where(Value):
    """A place in a user's file; lines and columns count from 1, as editors show them."""

    file: str
    line: int = 1
    column: int = 1
    path: str = ""

    def __str__(self) -> str:
        """Return `file:line:column`, the form that terminals and editors make clickable."""
        return f"{self.file}:{self.line}:{self.column}"

    def __lt__(self, other: Where) -> bool:
        return self._values() < other._values()


class Problem(Value):
    """One mistake: what is wrong at which place, and what to do.

    `rule` is the id that `slurmpod explain` knows.
    """

    rule: str
    severity: Severity
    where: Where
    message: str
    fix: str

    def as_dict(self) -> dict[str, object]:
        """Return the problem as plain data for `--json`."""
        return asdict(self)


class InvalidEnvironment(Exception):
    """Raised where a valid environment is required and it has errors; holds all of them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(self.problems)} problem(s)")


class WorkFailed(Exception):
    """The command cannot continue; the text says why, and is all that the user sees."""


def has_errors(problems: Iterable[Problem]) -> bool:
    """Return whether any of `problems` is an error."""
    return any(problem.severity is Severity.ERROR for problem in problems)


def in_file_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems sorted by position in the file, then by rule id."""
    return tuple(sorted(problems, key=lambda problem: (problem.where, problem.rule)))


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 node`, `2 nodes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def first_of(names: Sequence[str], most: int) -> str:
    """Return `a, b and 3 more`: at most so many names, and how many others there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def first_problems(problems: Sequence[Problem], most: int, count: int = 0) -> list[Problem]:
    """Return at most `most` problems, and one that gives the number of the rest.

    `count` is the total if `problems` does not hold all of them.
    """
    shown = list(problems[:most])
    for left_out in problems[most : most + 1]:
        message = f"{max(count, len(problems)) - most} more problems in this file from here on"
        shown.append(replace(left_out, message=message, fix="correct those above first"))
    return shown


def format_path(path: YamlPath) -> str:
    """Format a YAML path for people: `cluster.groups[2].count`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
