"""The text of a shell script -> its parts: words, comments, here documents, ends of commands."""

from __future__ import annotations

import re
import shlex
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST_NESTING = 5


def _nested(depth: int) -> str:
    """Return a pattern for text whose parentheses are closed, and nested no deeper than that."""
    return rf"(?:[^()]++|\({_nested(depth - 1)}\))*+" if depth else r"[^()]*+"


QUOTED = r""" "(?:\\.|[^"\\])*+" | '[^']*+' """
NESTED = _nested(DEEPEST_NESTING)
TOKEN = re.compile(
    rf"""
      (?P<blank> (?: [ \t\r\f\v] | \\\n )++ )
    | (?P<newline> \n )
    | (?P<comment> \#[^\n]*+ )
    | (?P<heredoc> \d*<<(?!<)-?[ \t]*+ (?P<end> {QUOTED} | [\w.\\-]++ ) )
    | (?P<redirect> (?: \d*+ | & ) (?: <<< | >> | [<>]& | [<>](?!\() ) \|? )
    | (?P<arithmetic> \(\({NESTED}\)\) )
    | (?P<separator> && | \|[|&]? | ;;? | [&()] )
    | (?P<word> (?: \\. | {QUOTED} | [$<>]\({NESTED}\) | (?<==)\({NESTED}\) | \$\{{[^{{}}]*+\}}
                  | `[^`]*+` | [^\s;&|<>()"'\\`$]++ | \$ )++ )
    | (?P<stray> . )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Everything that a script consists of; a stray character is what bash would complain about."""

ENDS_OF_COMMANDS = frozenset({"newline", "separator", "arithmetic"})
QUOTING = re.compile(rf"\\.|{QUOTED}", re.VERBOSE | re.DOTALL)
"""What takes the meaning of the characters in it."""

ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True)
class Token:
    """A part of a script: what it is, its text, and where that starts.

    A `document` is the text of a here document; `is_literal` if nothing in it is expanded.
    """

    kind: str
    text: str
    start: int
    is_literal: bool = False


def tokens(text: str) -> Iterator[Token]:
    """Yield the parts of a script. Documents stand behind the line that announces them, in order.

    One that is never closed is empty: where `<<` is none to begin with, the script goes on.
    """
    closing = _closing_lines(text)
    announced: list[str] = []
    index = 0
    while match := TOKEN.match(text, index):
        kind, index = match.lastgroup or "", match.end()
        yield Token(kind, match.group(), match.start())
        if kind == "heredoc":
            announced.append(match["end"])
        elif kind == "newline":
            for end in announced:
                lines = closing[unquoted(end)]
                line = bisect_left(lines, (index, 0))
                stop, after = lines[line] if line < len(lines) else (index, index)
                yield Token("document", text[index:stop], index, is_literal=unquoted(end) != end)
                index = after
            announced = []


def unquoted(raw: str) -> str:
    """Return what a command gets for a word: without quotes, and without continued lines."""
    if not any(character in raw for character in "'\"\\"):
        return raw
    try:
        return " ".join(shlex.split(QUOTING.sub(_on_one_line, raw)))
    except ValueError:
        return raw


def _closing_lines(text: str) -> defaultdict[str, list[tuple[int, int]]]:
    """Return where lines begin and where the next one does, by their text behind tabs."""
    found = defaultdict(list)
    for line in re.finditer(r"^\t*+(.*)$", text if "<<" in text else "", re.MULTILINE):
        found[line[1]].append((line.start(), min(line.end() + 1, len(text))))
    return found


def _on_one_line(match: re.Match[str]) -> str:
    part = match.group()
    if part.startswith("'"):
        return part
    return ESCAPED.sub(lambda escaped: "" if escaped[1] == "\n" else escaped[0], part)
