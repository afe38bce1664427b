"""An environment's CSV file with users -> users, or all problems.

Its columns are the fields of `User`, with the same limits and messages.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_origin

from pydantic import ValidationError
from pydantic_core import to_json

from slurmpod.environment.access import User
from slurmpod.environment.descriptions import type_of
from slurmpod.environment.environment import Environment
from slurmpod.problems import Problem, Severity, Where, first_problems
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.value import Value

RULE = "USR-001"
WRITTEN_AT = ("access", "users_file")

SHOWN = 20
"""Maximum of problems of one file that are reported individually; the rest are counted."""

NAMES = f"begin the file with the names of its columns: {', '.join(User.model_fields)}"

BOOLEANS = {"true": True, "false": False}

_ENTRY = ("access", "users", 0)
"""A path of a user in an environment, for messages about its fields."""


class ListedUser(Value):
    """A user of the file, and its line."""

    user: User
    where: Where


class UsersReading(Value):
    """The users of the file and the problems of its form."""

    users: tuple[ListedUser, ...]
    problems: tuple[Problem, ...]


class _Row(Value):
    """A row of the file, with its first line; cells may have line breaks."""

    where: Where
    cells: Sequence[str]


class _NoCsv(Exception):
    """Raised if the rest of the file cannot be parsed."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


def read_users_file(environment: Environment, source: YamlSource) -> UsersReading:
    """Read the file that the environment names, relative to the file that names it."""
    written = environment.access.users_file
    if written is None:
        return UsersReading((), ())
    where = source.where(WRITTEN_AT)
    path = Path(where.file).parent / written
    try:
        text = read_text(path)
    except Unreadable as reason:
        fix = "name a CSV file with users: UTF-8, at most 1 MB, relative to this file"
        problem = Problem(RULE, Severity.ERROR, where, f"{path}: {reason.message}", fix)
        return UsersReading((), (problem,))
    return read_users(str(path), text)


def read_users(file: str, text: str) -> UsersReading:
    """Read the text of a file of users; `file` is the name for problems."""
    users: list[ListedUser] = []
    problems: list[Problem] = []
    try:
        rows = _rows(file, text)
        columns, wrong = _columns(next(rows, None), Where(file))
        problems += wrong
        for row in rows if not wrong else ():
            found = list(_misfits(row, columns))
            problems += found
            if not found:
                _take(row, columns, users, problems)
    except _NoCsv as error:
        problems.append(error.problem)
    return UsersReading(tuple(users), tuple(first_problems(problems, SHOWN)))


def _rows(file: str, text: str) -> Iterator[_Row]:
    """Yield the rows that are not empty; raises _NoCsv."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begin = 1
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield _Row(Where(file, begin), stripped)
            begin = reader.line_num + 1
    except csv.Error as error:
        fix = 'separate cells with commas; put those with a comma or a quote in "..."'
        raise _NoCsv(_problem(Where(file, begin), f"this is not CSV: {error}", fix)) from None


def _columns(header: _Row | None, where: Where) -> tuple[Sequence[str], list[Problem]]:
    """Return the names in the first line, and their problems."""
    if header is None:
        return (), [_problem(where, "the file is empty", NAMES)]
    names = header.cells
    if len(names) == 1 and (separators := {";", "\t"} & set(names[0])):
        message = f"cells are separated by {min(separators)!a}"
        return names, [_problem(header.where, message, "separate them with commas")]
    problems = list(_wrong_columns(header))
    for name, field in User.model_fields.items():
        if field.is_required() and name not in names and not problems:
            message = f"the column '{name}' is missing"
            problems.append(_problem(header.where, message, "add it; every user needs it"))
    return names, problems


def _wrong_columns(header: _Row) -> Iterator[Problem]:
    from slurmpod.environment.suggestion import did_you_mean
    from slurmpod.reading.phrases import show  # only needed if there is such a file

    for number, name in enumerate(header.cells):
        if name not in User.model_fields:
            guess = did_you_mean(name, User.model_fields)
            yield _problem(header.where, f"unknown column {show(name)}", guess or NAMES)
        elif name in header.cells[:number]:
            message = f"the column '{name}' is there twice"
            yield _problem(header.where, message, "keep one of the two")


def _misfits(row: _Row, columns: Sequence[str]) -> Iterator[Problem]:
    """Yield why a row cannot be checked cell by cell, without showing its content."""
    from slurmpod.reading.secrets_in_text import FOUND, REMOVE, holds_private_key

    if len(row.cells) != len(columns):
        message = f"the line has {len(row.cells)} cells, and the first one names {len(columns)}"
        fix = 'leave no cell out; put a cell with a comma in "..."'
        yield _problem(row.where, message, fix)
    elif any(map(holds_private_key, row.cells)):
        yield _problem(row.where, FOUND, REMOVE)


def _take(
    row: _Row, columns: Sequence[str], users: list[ListedUser], problems: list[Problem]
) -> None:
    written = dict(zip(columns, row.cells, strict=True))
    data = {name: _value(name, text) for name, text in written.items() if text}
    try:
        user = User.model_validate_json(to_json(data))
    except ValidationError as error:
        problems += _in_words(error, row.where)
    else:
        users.append(ListedUser(user, row.where))


def _value(name: str, text: str) -> Any:
    """Convert a cell to its field's type; if that fails, it stays text, which pydantic refuses."""
    kind = type_of(User.model_fields[name])
    if kind is int:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else text
    if kind is bool:
        return BOOLEANS.get(text.lower(), text)
    if get_origin(kind) is tuple:
        parts = text.split("|") if name == "ssh_keys" else text.split()
        return [part.strip() for part in parts]
    return text


def _in_words(error: ValidationError, where: Where) -> Iterator[Problem]:
    """Return problems for pydantic's findings, with positions in this file."""
    from slurmpod.reading.phrases import phrase  # only needed on mistakes
    from slurmpod.reading.yaml_source import YamlSource

    for detail in error.errors(include_url=False):
        name = str(detail["loc"][0])
        at = replace(where, path=name)
        if detail["type"] == "missing":
            yield _problem(at, "the value is missing", "write it; every user needs it")
            continue
        detail["loc"] = (*_ENTRY, *detail["loc"])
        said = phrase(detail, YamlSource(where.file))
        yield _problem(at, said.message, said.fix)


def _problem(where: Where, message: str, fix: str) -> Problem:
    return Problem(RULE, Severity.ERROR, where, message, fix)
