"""A shell script as commands, which are words with their places, read with tree-sitter.

Nothing is run. Syntax that bash would refuse, or that the grammar of tree-sitter-bash does not
support, is skipped: the words around it are still found.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property, lru_cache
from itertools import product, takewhile
from typing import TYPE_CHECKING

from slurmpod.jobs.bash_tree import (
    ESCAPED,
    parts_with_words,
    pieces,
    raw_strings,
    unescaped,
    unquoted,
)
from slurmpod.jobs.branches import Branch, branches
from slurmpod.jobs.here_documents import (
    NOT_NEWLINE,
    HereDocument,
    blank,
    here_documents,
    without,
)
from slurmpod.value import Value

if TYPE_CHECKING:
    from tree_sitter import Node

NOT_ASCII = re.compile(r"[^\t\n\r\x20-\x7e]")
CONTINUED = re.compile(r"(?:\\[\n\t ])+")
NEWLINE = re.compile(r"(?<!\\)\n")

TYPES_OF_WORDS = """
    ansi_c_string arithmetic_expansion array brace_expression command_substitution concatenation
    expansion extglob_pattern number process_substitution raw_string regex simple_expansion
    special_variable_name string string_content test_operator translated_string
    variable_assignment variable_name word
"""
WORDS = frozenset(TYPES_OF_WORDS.split())
"""Node types that form one word of a command."""

KEYWORDS = frozenset(
    {"export", "declare", "typeset", "readonly", "local", "unset", "for", "select", "case", "in"}
)
"""What the grammar has as a keyword, and what is the first word of a command, or one behind it."""

COMMANDS = frozenset(["command", "declaration_command", "unset_command", "test_command"])
APPENDING = frozenset({">>", "&>>"})
BACKGROUND = "&"
OPERATING = frozenset({BACKGROUND, "file_redirect"})


class Place(Value):
    """Line and column, from 1."""

    line: int
    column: int

    def __lt__(self, other: Place) -> bool:
        return self._values() < other._values()

    def __le__(self, other: Place) -> bool:
        return self._values() <= other._values()


class Word(Value):
    """One word: as it stands there (`raw`), and as the command gets it, but for substitutions.

    `expanded` is what the shell that runs the script expands: not what is in '...' or behind a
    backslash. What is in $(...) is run by then, whatever quotes are in it. The rest is blanked, so
    that every character keeps its index in `raw`.
    """

    raw: str
    text: str
    expanded: str = field(repr=False)
    place: Place
    is_substitution: bool = False
    """Whether the whole word is a command substitution."""

    def place_of(self, index: int) -> Place:
        """Return the place of one character of `raw`."""
        before = self.raw[:index]
        if "\n" not in before:
            return Place(self.place.line, self.place.column + index)
        return Place(self.place.line + before.count("\n"), index - before.rindex("\n"))


Command = tuple[Word, ...]
"""The words of one simple command; never empty."""


class Document(Value):
    """A here document: the command that reads it, and its text as a separate script.

    The shell expands what is in it before the command sees it, in '...', too, unless the word
    that ends it is quoted.
    """

    reader: Command
    text: str
    line: int
    is_literal: bool

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the text if it is a shell script; otherwise its words."""
        never_expanded = NOT_NEWLINE if self.is_literal else ESCAPED
        return tuple(
            tuple(replace(each, expanded=blank(never_expanded, each.raw)) for each in command)
            for command in read(self.text, self.line).commands
        )


class ParsedScript(Value):
    """The parts of a script. What is in a here document is data, and none of its commands."""

    commands: tuple[Command, ...]
    documents: tuple[Document, ...]
    comments: tuple[Place, ...]
    branches: tuple[tuple[Place, Place, Branch], ...]
    """Start and end of each branch."""

    operators: tuple[tuple[str, Place], ...]
    """Positions of `&` after commands, and of `>>` before files."""

    def operators_of(self, place: Place) -> frozenset[str]:
        """Return the operators behind the command that begins at a place, before the next one."""
        first = bisect_right(self._starts, place)
        following = self._starts[first] if first < len(self._starts) else None
        index = bisect_right(self.operators, place, key=lambda each: each[1])
        found = takewhile(
            lambda each: following is None or each[1] < following, self.operators[index:]
        )
        return frozenset(operator for operator, _ in found)

    @cached_property
    def _starts(self) -> list[Place]:
        return sorted(command[0].place for command in self.commands)

    def exclude(self, one: Place, other: Place) -> bool:
        """Return whether no run of the script reaches both places."""
        pairs = product(self._branches_of(one), self._branches_of(other))
        return any(first.excludes(second) for first, second in pairs)

    def _branches_of(self, place: Place) -> list[Branch]:
        return [branch for start, stop, branch in self.branches if start <= place < stop]


def read(text: str, line: int = 1) -> ParsedScript:
    """Read a script that begins at a line: its commands, those in parentheses and branches, too."""
    documents = tuple(here_documents(text))
    reader = _Reader(text, _places(text, line), documents)
    for start, piece in pieces(without(documents, NOT_ASCII.sub(".", text))):
        reader.read(piece, start)
    return reader.parsed()


@lru_cache(maxsize=1024)
def commands_of(text: str) -> tuple[Command, ...]:
    """Return the commands of a text that is read again and again, such as a variable's value."""
    return read(text).commands


def commands_in(text: str, place: Place) -> tuple[Command, ...]:
    """Return the commands of a text that stands at `place`, such as the value of a variable."""
    return tuple(
        tuple(replace(word, place=place) for word in command) for command in commands_of(text)
    )


def words_in(text: str, place: Place) -> list[Word]:
    """Return the words of a text that stands at `place`, such as a value with several options."""
    return [word for command in commands_in(text, place) for word in command]


class _Reader:
    """Collects the words of commands from the trees of a text's pieces."""

    def __init__(
        self, text: str, at: Callable[[int], Place], documents: tuple[HereDocument, ...]
    ) -> None:
        self._text = text
        self._at = at
        self._documents = documents
        self._literal = [each for each in documents if each.is_literal]
        self._starts: list[int] = []
        self._commands: list[list[Word]] = []
        self._spans: list[tuple[int, int]] = []
        self._comments: list[Place] = []
        self._branches: list[Branch] = []
        self._operators: list[tuple[str, Place]] = []

    def read(self, root: Node, offset: int) -> None:
        """Read a tree whose text begins at an offset."""
        self._begin(offset)
        self._branches += branches(root, offset)
        behind = offset
        waiting = [(root, False)]
        while waiting:
            node, is_in_test = waiting.pop()
            start, stop = offset + node.start_byte, offset + node.end_byte
            is_word = node.type in WORDS
            if is_word or not node.children:
                if NEWLINE.search(self._text, behind, start) and not is_in_test:
                    self._begin(start)
                behind = stop
            if node.type in COMMANDS:
                self._begin(start)
            if node.type in OPERATING:
                self._note_operator(node, offset)
            if is_word:
                self._add(node, offset)
            elif not node.children:
                self._leaf(node, offset, is_in_test)
            else:
                is_in_test |= node.type == "test_command"
                waiting += [(child, is_in_test) for child in reversed(parts_with_words(node))]

    def parsed(self) -> ParsedScript:
        """Return what was read; here documents inside of words are no documents of the script."""
        return ParsedScript(
            tuple(tuple(command) for command in self._commands if command),
            tuple(
                Document(
                    self._reader_of(each),
                    self._text[each.start : each.stop],
                    self._at(each.start).line,
                    each.is_literal,
                )
                for each in self._documents
                if not self._is_in_word(each)
            ),
            tuple(self._comments),
            tuple((self._at(each.start), self._at(each.stop), each) for each in self._branches),
            tuple(sorted(self._operators, key=lambda each: each[1])),
        )

    def _leaf(self, node: Node, offset: int, is_in_test: bool) -> None:
        """Take a comment, a keyword that is a word, or what ends a command."""
        if node.type == "comment":
            self._comments.append(self._at(offset + node.start_byte))
        elif is_in_test or node.type in KEYWORDS or node.is_error:
            self._add(node, offset)
        elif not node.is_named:
            self._begin(offset + node.end_byte)

    def _note_operator(self, node: Node, offset: int) -> None:
        """Keep `&` behind a command, and `>>` before a file."""
        operator = node if node.type == BACKGROUND else node.children[0]
        if operator.type in (BACKGROUND, *APPENDING):
            self._operators.append((operator.type, self._at(offset + operator.start_byte)))

    def _begin(self, start: int) -> None:
        self._starts.append(start)
        self._commands.append([])

    def _add(self, node: Node, offset: int) -> None:
        start, stop = offset + node.start_byte, offset + node.end_byte
        if start == stop:
            return
        word = Word(
            raw=self._text[start:stop],
            text=unquoted(node, self._text, offset),
            expanded=self._expanded(node, offset),
            place=self._at(start),
            is_substitution=node.type == "command_substitution",
        )
        words = self._commands[-1]
        behind = self._spans[-1][1] if words else start
        if behind < start and CONTINUED.fullmatch(self._text, behind, start):
            word = _joint(words.pop(), self._text[behind:start], word)
        words.append(word)
        self._spans.append((start, stop))

    def _expanded(self, node: Node, offset: int) -> str:
        start, stop = offset + node.start_byte, offset + node.end_byte
        blanks = [(offset + each.start_byte, offset + each.end_byte) for each in raw_strings(node)]
        index = bisect_left(self._literal, start, key=lambda each: each.start)
        for each in self._literal[index:]:
            if each.start >= stop:
                break
            blanks.append((each.start, each.stop))
        parts, done = [], start
        for first, behind in sorted(blanks):
            parts += [
                blank(ESCAPED, self._text[done:first]),
                blank(NOT_NEWLINE, self._text[max(first, done) : behind]),
            ]
            done = max(behind, done)
        return "".join((*parts, blank(ESCAPED, self._text[done:stop])))

    def _is_in_word(self, document: HereDocument) -> bool:
        index = bisect_right(self._spans, (document.operator, len(self._text)))
        return index > 0 and document.operator < self._spans[index - 1][1]

    def _reader_of(self, document: HereDocument) -> Command:
        index = bisect_right(self._starts, document.operator)
        return tuple(self._commands[index - 1]) if index else ()


def _joint(first: Word, between: str, second: Word) -> Word:
    """Return the one word that the grammar parts at a continued line, and at an escaped blank."""
    return Word(
        first.raw + between + second.raw,
        first.text + unescaped(ESCAPED, between) + second.text,
        first.expanded + blank(NOT_NEWLINE, between) + second.expanded,
        first.place,
    )


def _places(text: str, line: int) -> Callable[[int], Place]:
    """Return what gives the place of a character in a text that begins at a line."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(index: int) -> Place:
        number = bisect_right(starts, index)
        return Place(line + number - 1, index - starts[number - 1] + 1)

    return at
