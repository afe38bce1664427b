"""YAML text -> plain data, with the line and column of every key and value.

A stricter YAML than the library's default: duplicate keys, tags and deep nesting are refused, and
only types of settings are converted (null, true, false, whole numbers). Everything else stays text:
`no`, `on`, `2024-01-01` and `1.10`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from slurmpod.problems import Problem, Severity, Where, YamlPath
from slurmpod.reading.secrets_in_text import shown_path
from slurmpod.reading.yaml_loader import loader

ALIASED_LIMIT = 20_000
"""Limit of the values that a file's aliases expand to: stops endless expansion."""

DEPTH_LIMIT = 50
"""Levels of nesting; an environment has five. PyYAML's C composer crashes at some ten thousand."""

_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
LONGEST_NUMBER = 18
"""Digits of a whole number; longer ones stay text, which no numeric setting accepts."""

_CORE_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)


Position = tuple[str, int, int]
"""File, line and column."""


@dataclass
class YamlSource:
    """A YAML file: its plain data, and the position of each part.

    A file that extends another has parts of both (see `merge`), so each position names its file.
    `blanks` are omitted values, as in `tags:`, but not an explicit null. `doubtful` are values that
    may not be as intended: those of duplicate keys, or with a tag.
    """

    file: str
    data: Any = None
    problems: list[Problem] = field(default_factory=list)
    values: dict[YamlPath, Position] = field(default_factory=dict)
    keys: dict[YamlPath, Position] = field(default_factory=dict)
    blanks: set[YamlPath] = field(default_factory=set)
    doubtful: set[YamlPath] = field(default_factory=set)

    def where(self, path: YamlPath, *, key: bool = False) -> Where:
        """Return the position of a value (or of its key), or of the closest parent.

        A missing key is reported at its mapping.
        """
        positions = self.keys if key else self.values
        for length in range(len(path), -1, -1):
            position = positions.get(path[:length]) or self.values.get(path[:length])
            if position:
                return Where(*position, shown_path(path))
        return Where(self.file, path=shown_path(path))

    def refuse(self, where: Where, message: str, fix: str, *, rule: str = "ENV-001") -> None:
        """Record an error, by default one in the YAML."""
        self.problems.append(Problem(rule, Severity.ERROR, where, message, fix))


def read_yaml(file: str, text: str) -> YamlSource:
    """Parse `text`, the content of `file`; YAML errors are in `.problems`."""
    source = YamlSource(file)
    try:
        if not _is_flat_and_untagged(source, text):
            return source
        top = yaml.compose(text, Loader=loader())
        source.data = _Reader(source).value(top, ()) if top else None
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        _refuse_text(source, text, error)
    except _Unfolds as unfolds:
        source.refuse(
            Where(file, *_position(unfolds.node)),
            f"the aliases (*name) in this file {unfolds.how_far}",
            "write the values out",
        )
    if source.data is None and not source.problems:
        source.refuse(Where(file), "the file is empty", "copy environments/dev.yaml and change it")
    return source


class _Unfolds(Exception):
    """Raised if aliases are recursive, nested too deeply, or expand to too many values."""

    def __init__(self, node: yaml.Node, how_far: str) -> None:
        self.node = node
        self.how_far = how_far
        super().__init__()


class _Reader:
    """Converts composed YAML nodes into plain data and records their positions."""

    def __init__(self, source: YamlSource) -> None:
        self._source = source
        self._seen: set[int] = set()
        self._aliased = 0
        self._tagged = {(found.where.line, found.where.column) for found in source.problems}

    def value(self, node: yaml.Node, path: YamlPath) -> Any:
        self._count(node, path)
        self._source.values[path] = self._source.file, *_position(node)
        if _position(node) in self._tagged:
            self._source.doubtful.add(path)
        if isinstance(node, yaml.MappingNode):
            return dict(self._entries(node, path))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)  # noqa: S101  # YAML has no fourth kind
        is_text = node.style or node.tag.endswith(":str")
        if not is_text and not node.value:
            self._source.blanks.add(path)
        return node.value if is_text else _plain_scalar(node.value)

    def _count(self, node: yaml.Node, path: YamlPath) -> None:
        """Stop endless expansion of aliases; an alias refers to an earlier node."""
        if len(path) > DEPTH_LIMIT:
            raise _Unfolds(node, "expand endlessly")
        self._aliased += id(node) in self._seen
        if self._aliased > ALIASED_LIMIT:
            raise _Unfolds(node, f"expand to more than {ALIASED_LIMIT} values")
        self._seen.add(id(node))

    def _entries(self, node: yaml.MappingNode, path: YamlPath) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            position = self._source.file, *_position(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                where = Where(*position, shown_path(path))
                self._source.refuse(where, "a key must be plain text", "write it as one word")
                self._source.doubtful.add(path)
                continue
            key = key_node.value
            if key in seen:
                where = Where(*position, shown_path((*path, key)))
                message = (
                    f"the key '{shown_path((key,))}' is there twice, first on line {seen[key]}"
                )
                self._source.refuse(where, message, "keep one of the two")
                self._source.doubtful.add((*path, key))
                continue
            seen[key] = position[1]
            self._source.keys[(*path, key)] = position
            yield key, self.value(value_node, (*path, key))


def _refuse_text(source: YamlSource, text: str, error: Exception) -> None:
    from slurmpod.reading.yaml_mistakes import forbidden_character, syntax_mistake

    if isinstance(error, yaml.MarkedYAMLError):
        found = syntax_mistake(text, error)
    else:
        found = forbidden_character(text)
    source.refuse(Where(source.file, found.line, found.column), found.message, found.fix)


def _is_flat_and_untagged(source: YamlSource, text: str) -> bool:
    """Scan the file without recursion; record tags, and return whether it may be composed."""
    depth = 0
    for event in yaml.parse(text, Loader=loader()):
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            _refuse_unknown_tag(source, event)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH_LIMIT:
            source.refuse(
                Where(source.file, *_position(event)),
                f"values are nested more than {DEPTH_LIMIT} levels deep",
                "look for accidental brackets or indentation",
            )
            return False
    return True


def _refuse_unknown_tag(
    source: YamlSource, event: yaml.ScalarEvent | yaml.CollectionStartEvent
) -> None:
    if event.tag not in _CORE_TAGS:
        tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
        source.refuse(
            Where(source.file, *_position(event)),
            f"the YAML tag {tag} is not supported",
            "remove the tag; write plain text, numbers, lists and mappings",
        )


def _plain_scalar(text: str) -> Any:
    """Convert unquoted scalars by YAML 1.2's core schema, except fractions."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    digits = text[1:] if text[0] in "+-" else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > LONGEST_NUMBER:
        return text
    return text if digits[0] == "0" and digits != "0" else int(text)


def _position(node: yaml.Node | yaml.Event) -> tuple[int, int]:
    mark = node.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
