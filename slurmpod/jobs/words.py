"""The text of a shell script -> its commands, as words with their places; nothing is run.

This is not a shell: it knows quotes, comments, continued lines, here documents, substitutions and
what ends a command. That is enough to see which command is given which options.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

QUOTED = r""" "(?:\\.|[^"\\])*+" | '[^']*+' """
NESTED = r"(?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+"
TOKEN = re.compile(
    rf"""
      (?P<blank> (?: [ \t\r\f\v] | \\\n )++ )
    | (?P<newline> \n )
    | (?P<comment> \#[^\n]*+ )
    | (?P<heredoc> \d*<<(?!<)-?[ \t]*+ (?P<end> {QUOTED} | [\w.\\-]++ ) )
    | (?P<redirect> (?: \d*+ | & ) (?: <<< | >> | [<>]& | [<>](?!\() ) \|? )
    | (?P<separator> && | \|[|&]? | ;;? | [&()] )
    | (?P<word> (?: \\. | {QUOTED} | [$<>]\({NESTED}\) | (?<==)\({NESTED}\) | \$\{{[^{{}}]*+\}}
                  | `[^`]*+` | [^\s;&|<>()"'\\`$]++ | \$ )++ )
    | (?P<stray> . )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Everything that a script consists of; a stray character is what bash would complain about."""

NEVER_EXPANDED = re.compile(rf"\\.|{QUOTED}", re.VERBOSE | re.DOTALL)
KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "nohup"}
)
"""Words before a command that are none of it."""


@dataclass(frozen=True)
class Place:
    """Line and column of something, from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Word:
    """One word: as it stands there (`raw`), and as the command gets it, but for substitutions."""

    raw: str
    text: str
    place: Place

    @property
    def expanded(self) -> str:
        """What the shell that runs the script expands: not what is in '...' or behind a backslash.

        The rest is blanked, so that every character keeps its index in `raw`.
        """
        return NEVER_EXPANDED.sub(_blanked, self.raw)

    def place_of(self, index: int) -> Place:
        """Return the place of one character of `raw`."""
        before = self.raw[:index]
        if "\n" not in before:
            return Place(self.place.line, self.place.column + index)
        return Place(self.place.line + before.count("\n"), index - before.rindex("\n"))


Command = tuple[Word, ...]
"""The words of one simple command, keywords before it left out; never empty."""


def commands(text: str) -> Iterator[Command]:
    """Yield the commands of a script, those in parentheses and branches, too.

    What is in a here document is data, and left out.
    """
    words: list[Word] = []
    for word in _words_and_ends(text):
        if word is None:
            yield from _command(words)
            words = []
        else:
            words.append(word)
    yield from _command(words)


def words_in(text: str, place: Place) -> list[Word]:
    """Return the words of a text that stands at `place`, such as a value with several options."""
    return [Word(word.raw, word.text, place) for word in _words_and_ends(text) if word is not None]


def _words_and_ends(text: str) -> Iterator[Word | None]:
    """Yield words, and None where a command ends."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    here_documents: list[str] = []
    index, is_target = 0, False
    while match := TOKEN.match(text, index):
        index, kind = match.end(), match.lastgroup
        if kind == "newline" and here_documents:
            index = _after_documents(text, index, here_documents)
            here_documents = []
        if kind == "word" and not is_target:
            yield _word(match, starts)
        elif kind in ("newline", "separator"):
            yield None
        elif kind == "heredoc":
            here_documents.append(_unquoted(match["end"]))
        is_target = kind == "redirect" or (is_target and kind == "blank")


def _word(match: re.Match[str], starts: list[int]) -> Word:
    raw, start = match.group(), match.start()
    line = bisect_right(starts, start)
    return Word(raw, _unquoted(raw), Place(line, start - starts[line - 1] + 1))


def _unquoted(raw: str) -> str:
    if not any(character in raw for character in "'\"\\"):
        return raw
    try:
        return " ".join(shlex.split(raw))
    except ValueError:
        return raw


def _after_documents(text: str, index: int, ends: list[str]) -> int:
    """Return where the script goes on behind the here documents that begin at `index`."""
    for end in ends:
        closing = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(text, index)
        if not closing:
            return len(text)
        index = min(closing.end() + 1, len(text))
    return index


def _command(words: list[Word]) -> Iterator[Command]:
    first = next((i for i, word in enumerate(words) if word.raw not in KEYWORDS), len(words))
    if words[first:]:
        yield tuple(words[first:])


def _blanked(match: re.Match[str]) -> str:
    part = match.group()
    if part.startswith('"'):
        return re.sub(r"\\.", "  ", part, flags=re.DOTALL)
    return re.sub(r"[^\n]", " ", part)
