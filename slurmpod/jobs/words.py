"""The text of a shell script -> its commands, as words with their places; nothing is run.

This is not a shell: it knows quotes, comments, continued lines, here documents, substitutions and
what ends a command. That is enough to see which command is given which options.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from slurmpod.jobs.tokens import ENDS_OF_COMMANDS, ESCAPED, NESTED, QUOTED, tokens, unquoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slurmpod.jobs.tokens import Token

LITERAL_DOCUMENT = r"""
    <<-?[ \t]*+ ['"\\] (?P<end>[\w.-]++) ['"]? [^\n]*+\n (?: (?!\t*+(?P=end)$) [^\n]*+\n )*+
"""
"""A here document whose end is quoted, in a substitution such as $(cat <<'EOF' ...)."""

IN_QUOTES = re.compile(rf"\\.|{LITERAL_DOCUMENT}", re.VERBOSE | re.DOTALL | re.MULTILINE)
IN_COMMANDS = re.compile(rf"{QUOTED}|\$\({NESTED}\)|{IN_QUOTES.pattern}", IN_QUOTES.flags)
IN_DOCUMENTS = ESCAPED
IN_LITERAL_DOCUMENTS = re.compile(r"[^\n]")


@dataclass(frozen=True)
class Place:
    """Line and column of something, from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Word:
    """One word: as it stands there (`raw`), and as the command gets it, but for substitutions.

    `never_expanded` is what the shell leaves alone in it.
    """

    raw: str
    text: str
    place: Place
    never_expanded: re.Pattern[str] = field(default=IN_COMMANDS, repr=False)

    @property
    def expanded(self) -> str:
        """What the shell that runs the script expands: not what is in '...' or behind a backslash.

        What is in $(...) is run by then, whatever quotes are in it. The rest is blanked, so that
        every character keeps its index in `raw`.
        """
        return self.never_expanded.sub(_blanked, self.raw)

    def place_of(self, index: int) -> Place:
        """Return the place of one character of `raw`."""
        before = self.raw[:index]
        if "\n" not in before:
            return Place(self.place.line, self.place.column + index)
        return Place(self.place.line + before.count("\n"), index - before.rindex("\n"))


Command = tuple[Word, ...]
"""The words of one simple command, and keywords before it; never empty."""


@dataclass(frozen=True)
class Document:
    """A here document: the command that reads it, and its text as a script of its own.

    The shell expands what is in it before the command sees it, in '...', too, unless the word
    that ends it is quoted.
    """

    reader: Command
    text: str
    line: int
    is_literal: bool

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the text, where it is a shell script; words of it, where it is none."""
        never_expanded = IN_LITERAL_DOCUMENTS if self.is_literal else IN_DOCUMENTS
        return read(self.text, self.line, never_expanded).commands


@dataclass(frozen=True)
class Reading:
    """What stands in a script. What is in a here document is data, and none of its commands."""

    commands: tuple[Command, ...]
    documents: tuple[Document, ...]
    comments: tuple[Place, ...]


def read(text: str, line: int = 1, never_expanded: re.Pattern[str] = IN_COMMANDS) -> Reading:
    """Read a script that begins at a line: its commands, those in parentheses and branches, too."""
    at = _places(text, line)
    found = tuple(tokens(text))

    def words_of(parts: Iterable[Token]) -> Command:
        return tuple(
            Word(part.text, unquoted(part.text), at(part.start), never_expanded)
            for part in parts
            if part.kind == "word"
        )

    commands = _commands(found)
    readers = (parts for parts in commands for part in parts if part.kind == "heredoc")
    documents = (token for token in found if token.kind == "document")
    return Reading(
        tuple(filter(None, map(words_of, commands))),
        tuple(
            Document(words_of(reader), each.text, at(each.start).line, each.is_literal)
            for reader, each in zip(readers, documents, strict=False)
        ),
        tuple(at(token.start) for token in found if token.kind == "comment"),
    )


def commands_in(text: str, place: Place) -> tuple[Command, ...]:
    """Return the commands of a text that stands at `place`, such as the value of a variable."""
    commands = read(text).commands
    return tuple(tuple(replace(word, place=place) for word in command) for command in commands)


def words_in(text: str, place: Place) -> list[Word]:
    """Return the words of a text that stands at `place`, such as a value with several options."""
    return [word for command in commands_in(text, place) for word in command]


def _commands(found: Iterable[Token]) -> list[list[Token]]:
    """Return the parts of each command, but for what redirections name."""
    commands: list[list[Token]] = [[]]
    is_target = False
    for token in found:
        if token.kind in ENDS_OF_COMMANDS:
            commands.append([])
        elif token.kind == "heredoc" or (token.kind == "word" and not is_target):
            commands[-1].append(token)
        is_target = token.kind == "redirect" or (is_target and token.kind == "blank")
    return commands


def _places(text: str, line: int) -> Callable[[int], Place]:
    """Return what gives the place of a character in a text that begins at a line."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(index: int) -> Place:
        number = bisect_right(starts, index)
        return Place(line + number - 1, index - starts[number - 1] + 1)

    return at


def _blanked(match: re.Match[str]) -> str:
    part = match.group()
    if part.startswith(('"', "$")):
        return IN_QUOTES.sub(_blanked, part)
    return re.sub(r"[^\n]", " ", part)
