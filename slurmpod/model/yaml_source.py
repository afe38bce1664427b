"""YAML text -> plain data, with the line and column of every key and value.

A stricter YAML than the library's default: duplicate keys are refused, and only what YAML 1.2
calls core values is converted, so `no`, `on` or `2024-01-01` stay the text that the user wrote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from slurmpod.problems import Problem, Severity, Where, YamlPath, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

NODE_LIMIT = 20_000
"""Values in one file, aliases expanded: ends a document that would unfold without end."""

_CORE_VALUES = (
    (re.compile(r"~|null|Null|NULL|"), lambda _: None),
    (re.compile(r"true|True|TRUE"), lambda _: True),
    (re.compile(r"false|False|FALSE"), lambda _: False),
    (re.compile(r"[-+]?(0|[1-9][0-9]*)"), int),
    (
        re.compile(r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"),
        float,
    ),
)


@dataclass
class YamlSource:
    """One YAML file: its text, its plain data, and where each part of the data stands."""

    file: str
    text: str
    data: Any = None
    problems: list[Problem] = field(default_factory=list)
    _values: dict[YamlPath, tuple[int, int]] = field(default_factory=dict)
    _keys: dict[YamlPath, tuple[int, int]] = field(default_factory=dict)

    def where(self, path: YamlPath, *, key: bool = False) -> Where:
        """Return the place of a value (or of its key), or of the nearest thing around it.

        A missing key is reported at the mapping that lacks it.
        """
        positions = self._keys if key else self._values
        for length in range(len(path), -1, -1):
            position = positions.get(path[:length]) or self._values.get(path[:length])
            if position:
                return Where(self.file, *position, format_path(path))
        return Where(self.file, path=format_path(path))

    def line_of_text(self, line: int) -> str:
        """Return one line of the file, for showing it above a caret; empty when there is none."""
        lines = self.text.splitlines()
        return lines[line - 1] if 0 < line <= len(lines) else ""


def read_yaml(file: str, text: str) -> YamlSource:
    """Parse `text`, the content of `file`; what is wrong with it as YAML is in `.problems`."""
    source = YamlSource(file, text)
    try:
        top = yaml.compose(text, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        source.problems.append(_syntax_problem(file, error))
        return source
    except yaml.reader.ReaderError as error:
        message = f"the file has a character that YAML does not allow: {error.reason}"
        source.problems.append(_problem(Where(file), message, "remove that character"))
        return source
    if top is None:
        source.problems.append(
            _problem(Where(file), "the file is empty", "copy environments/dev.yaml and change it")
        )
        return source
    source.data = _Reader(source).value(top, ())
    return source


class _Reader:
    """Turns composed YAML nodes into plain data and notes where each stands."""

    def __init__(self, source: YamlSource) -> None:
        self._source = source
        self._open: list[yaml.Node] = []
        self._count = 0

    def value(self, node: yaml.Node, path: YamlPath) -> Any:
        self._count += 1
        self._source._values[path] = _position(node)
        if node in self._open or self._count > NODE_LIMIT:
            self._refuse(
                node,
                path,
                "the aliases (*name) of this file unfold without end",
                "write the values out",
            )
            return None
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return dict(self._entries(node, path))
            if isinstance(node, yaml.SequenceNode):
                return [self.value(child, (*path, i)) for i, child in enumerate(node.value)]
            assert isinstance(node, yaml.ScalarNode)  # noqa: S101  # YAML has no fourth kind
            return _scalar(node)
        finally:
            self._open.pop()

    def _entries(self, node: yaml.MappingNode, path: YamlPath) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(key_node, path, "a key must be plain text", "write it as one word")
                continue
            key = key_node.value
            line, _ = _position(key_node)
            if key in seen:
                self._refuse(
                    key_node,
                    (*path, key),
                    f"the key '{key}' stands twice, first in line {seen[key]}",
                    "keep one of the two",
                )
                continue
            seen[key] = line
            self._source._keys[(*path, key)] = _position(key_node)
            yield key, self.value(value_node, (*path, key))

    def _refuse(self, node: yaml.Node, path: YamlPath, message: str, fix: str) -> None:
        where = Where(self._source.file, *_position(node), format_path(path))
        self._source.problems.append(_problem(where, message, fix))


def _loader() -> type[yaml.SafeLoader]:
    """Return the C parser where PyYAML has it: ten times faster, the same positions."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _scalar(node: yaml.ScalarNode) -> Any:
    plain = not node.style and not node.tag.endswith(":str")
    if plain:
        for pattern, convert in _CORE_VALUES:
            if pattern.fullmatch(node.value):
                return convert(node.value)
    return node.value


def _position(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _syntax_problem(file: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    where = Where(file, mark.line + 1, mark.column + 1) if mark else Where(file)
    what = ", ".join(part for part in (error.context, error.problem) if part)
    return _problem(
        where,
        f"this is not valid YAML: {what}",
        "check the indentation, the quotes and the colons around this place",
    )


def _problem(where: Where, message: str, fix: str) -> Problem:
    return Problem("ENV-001", Severity.ERROR, where, message, fix)
