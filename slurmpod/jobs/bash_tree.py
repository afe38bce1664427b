"""Syntax trees of bash scripts from tree-sitter, and their meaning for the shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST_AT_ONCE = 8_000
"""Characters that are parsed at once. The grammar's scanner looks for the end of a list or of a
string up to the end of the text, again and again: the time grows with the square of the length."""

LIST = re.compile(r"\s*\w+\+?=\(\s*\n")
END_OF_LIST = "\n)\n"
"""A list of which each line is a word, as scripts write long ones."""

ESCAPED = re.compile(r"\\(.)", re.DOTALL)
ESCAPED_IN_STRINGS = re.compile(r'\\(["\\$`\n])')
ARITHMETIC = frozenset({"((", "$(("})


def pieces(text: str) -> Iterator[tuple[int, Node]]:
    """Yield the trees of a text of ASCII characters, and their offsets.

    A long text is read in pieces that begin where a statement does, if it is not longer than all
    that is read at once; of a longer list nothing is read, as its parts would look like commands.
    Each character is a byte, so that offsets are the same.
    """
    start = 0
    while start < len(text):
        stop = start + LONGEST_AT_ONCE
        if stop < len(text):
            stop = text.rfind("\n", start, stop) + 1 or stop
            whole = _last_statement(_parse(text[start:stop]))
            if not whole and (behind := _behind_list(text, start)):
                start = behind
                continue
            stop = start + (whole or stop - start)
        yield start, _parse(text[start:stop])
        start = stop


def _behind_list(text: str, start: int) -> int:
    """Return where the list that begins here, and goes on over lines, is over; 0 without one."""
    end = text.find(END_OF_LIST, start) if LIST.match(text, start) else -1
    return end + len(END_OF_LIST) if end > 0 else 0


def _last_statement(root: Node) -> int:
    """Return where the last statement of a piece begins, which may go on behind the piece."""
    return root.children[-1].start_byte if root.children and not root.is_error else 0


def _parse(text: str) -> Node:
    return _parser().parse(text.encode("ascii")).root_node


@cache
def _parser() -> Parser:
    """Return the parser; it is imported here because few commands read scripts."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parts_with_words(node: Node) -> list[Node]:
    """Return in which children of a node there are words: none of arithmetic, patterns, targets."""
    children = node.children
    if children[0].type in ARITHMETIC:
        return []
    if node.type == "herestring_redirect":
        return []
    if node.type == "file_redirect":
        return node.children_by_field_name("destination")[1:]
    if node.type == "function_definition":
        return [child for child in children if child.type != "word"]
    if node.type == "case_item":
        return children[next((i for i, each in enumerate(children) if each.type == ")"), 0) :]
    return children


def raw_strings(node: Node) -> Iterator[Node]:
    """Yield the '...' in a word, but for those in substitutions, which are commands."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type in ("raw_string", "ansi_c_string"):
            yield each
        elif each.type != "command_substitution":
            waiting += each.children


def unquoted(node: Node, text: str, offset: int) -> str:
    """Return what a command gets for a word: without quotes, and without continued lines."""
    start, stop = offset + node.start_byte, offset + node.end_byte
    match node.type:
        case "raw_string":
            return text[start + 1 : stop - 1]
        case "ansi_c_string":
            return text[start + 2 : stop - 1]
        case "string":
            return _joined(node, text, offset, (start + 1, stop - 1), ESCAPED_IN_STRINGS)
        case "word" | "concatenation" | "variable_assignment":
            return _joined(node, text, offset, (start, stop), ESCAPED)
    return text[start:stop]


def _joined(
    node: Node, text: str, offset: int, span: tuple[int, int], escaped: re.Pattern[str]
) -> str:
    """Return the text of a node's parts, and the text between them without backslashes."""
    parts, (done, stop) = [], span
    for child in node.named_children:
        if child.type != "string_content":
            parts.append(unescaped(escaped, text[done : offset + child.start_byte]))
            parts.append(unquoted(child, text, offset))
            done = offset + child.end_byte
    return "".join((*parts, unescaped(escaped, text[done:stop])))


def unescaped(escaped: re.Pattern[str], text: str) -> str:
    """Return a text as the shell reads it: without backslashes, and without continued lines."""
    return escaped.sub(lambda match: match[1].replace("\n", ""), text)
