"""Invalid YAML -> the position of the mistake and its description for the user.

The parser reports where it stopped. The mistake is often above: an unclosed quote ends at the next
one, and a key without a space after its colon is an ordinary word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import yaml

from slurmpod.reading.yaml_loader import loader
from slurmpod.value import Value

ADD_A_BLANK = "write a space after the colon"

_NO_BLANK = re.compile(r"(?P<before>\s*(?:-\s+)*[\w-]+):(?=[^\s:/])")
"""A line such as `count:2`, but not one that begins with a URL."""


class TextMistake(Value):
    """A position in a text, from 1, the mistake there, and the fix."""

    line: int
    column: int
    message: str
    fix: str


def syntax_mistake(text: str, error: yaml.MarkedYAMLError) -> TextMistake:
    """Return why `text` is not valid YAML."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    lines = text.splitlines()
    if _line(lines, line)[column - 1 : column] == "\t":
        return TextMistake(
            line, column, "YAML indents with spaces, and this is a tab", "indent with spaces"
        )
    if error.problem and "another document" in error.problem:
        fix = "keep one environment in a file; remove the line with ---"
        return TextMistake(line, column, "a second document begins here", fix)
    found = _open_quote(text, error, line) or _missing_blank(lines, error, line)
    if found is None:
        what = ", ".join(part for part in (error.context, error.problem) if part)
        fix = "check the indentation, quotes, brackets and colons at this place"
        found = TextMistake(line, column, what, fix)
    return replace(found, message=f"this is not valid YAML: {found.message}")


def _open_quote(text: str, error: yaml.MarkedYAMLError, line: int) -> TextMistake | None:
    """Find an unclosed quote: one without an end, or one that ends on a later line."""
    mark = error.context_mark if "quoted scalar" in (error.context or "") else None
    begin = (mark.line, mark.column) if mark else _long_quoted_text_that_ends_in(text, line)
    if begin is None:
        return None
    message = "the quote that opens here is not closed on its line"
    return TextMistake(begin[0] + 1, begin[1] + 1, message, "close the quote")


def _long_quoted_text_that_ends_in(text: str, line: int) -> tuple[int, int] | None:
    """Return the start of the multi-line quoted text that the parser read last."""
    found = None
    try:
        for event in yaml.parse(text, Loader=loader()):
            is_quoted = isinstance(event, yaml.ScalarEvent) and event.style in ("'", '"')
            begin, end = event.start_mark, event.end_mark
            if is_quoted and begin and end and begin.line < end.line == line - 1:
                found = begin.line, begin.column
    except yaml.YAMLError:
        return found
    return found


def _missing_blank(
    lines: Sequence[str], error: yaml.MarkedYAMLError, line: int
) -> TextMistake | None:
    """Find a key without a space after its colon, which the parser reads as one word."""
    context = error.context_mark.line + 1 if error.context_mark else line
    for begin in (context, _line_with_text(lines, line - 1)):
        found = _NO_BLANK.match(_line(lines, begin)) if begin < line else None
        if found:
            message = "a space is missing after the colon"
            return TextMistake(begin, found.end() + 1, message, ADD_A_BLANK)
    return None


def _line_with_text(lines: Sequence[str], last: int) -> int:
    """Return the last line up to this one with more than spaces and comments."""
    numbers = range(last, 0, -1)
    return next((each for each in numbers if _line(lines, each).partition("#")[0].strip()), 0)


def forbidden_character(text: str) -> TextMistake:
    """Return the position of the first character that YAML does not allow."""
    for number, line in enumerate(text.split("\n"), start=1):
        column = next((i for i, character in enumerate(line, start=1) if _is_refused(character)), 0)
        if column:
            message = f"the character U+{ord(line[column - 1]):04X} is not allowed in YAML"
            return TextMistake(number, column, message, "remove it")
    return TextMistake(1, 1, "the file contains a character that YAML does not allow", "remove it")


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _is_refused(character: str) -> bool:
    """Return whether a character is not printable in YAML 1.1 (section 4.1.1)."""
    code = ord(character)
    return (
        (code < 0x20 and character not in "\t\n\r")
        or (0x7F <= code < 0xA0 and code != 0x85)
        or 0xD800 <= code < 0xE000
        or code in (0xFFFE, 0xFFFF)
    )
