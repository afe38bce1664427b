"""What is no YAML at all: where the text breaks off, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Where

if TYPE_CHECKING:
    import yaml

    from slurmpod.model.yaml_source import YamlSource


def refuse_syntax(source: YamlSource, text: str, error: yaml.MarkedYAMLError) -> None:
    """Say where and why `text` is not valid YAML."""
    mark = error.problem_mark or error.context_mark
    where = Where(source.file, mark.line + 1, mark.column + 1) if mark else Where(source.file)
    if _character_at(text, where) == "\t":
        source.refuse(where, "a tab stands where YAML wants spaces", "indent with spaces")
    elif error.problem and "another document" in error.problem:
        source.refuse(
            where,
            "a second document begins here",
            "keep one environment in a file; remove the line with ---",
        )
    else:
        what = ", ".join(part for part in (error.context, error.problem) if part)
        source.refuse(
            where,
            f"this is not valid YAML: {what}",
            "check the indentation, quotes, brackets and colons at this place",
        )


def refuse_character(source: YamlSource, text: str) -> None:
    """Point at the first character that YAML does not allow."""
    for number, line in enumerate(text.split("\n"), start=1):
        column = next((i for i, character in enumerate(line, start=1) if _is_refused(character)), 0)
        if column:
            source.refuse(
                Where(source.file, number, column),
                f"the character U+{ord(line[column - 1]):04X} is not allowed in YAML",
                "remove it",
            )
            return
    source.refuse(Where(source.file), "the file holds a character that YAML refuses", "remove it")


def _character_at(text: str, where: Where) -> str:
    lines = text.splitlines()
    line = lines[where.line - 1] if where.line <= len(lines) else ""
    return line[where.column - 1 : where.column]


def _is_refused(character: str) -> bool:
    """Tell what lies outside the printable characters of YAML 1.1 (section 4.1.1)."""
    code = ord(character)
    return (
        (code < 0x20 and character not in "\t\n\r")
        or (0x7F <= code < 0xA0 and code != 0x85)
        or 0xD800 <= code < 0xE000
        or code in (0xFFFE, 0xFFFF)
    )
