"""Uses of fields in the environments of this repository, as examples for the pages of fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slurmpod.problems import YamlPath

ROOT = Path(__file__).parents[1]
FILES = ("environments/*.yaml", "environments/examples/*.yaml")
MOST_LINES = 20
WIDTH = 90


@dataclass(frozen=True)
class Example:
    """The value at a path in a file of this repository."""

    file: str
    value: Any


def example(path: YamlPath) -> Example | None:
    """Return the first use of a field, or None if no file has one."""
    return next(_uses(path), None)


def section_example(path: YamlPath) -> tuple[str, str] | None:
    """Return the file and the YAML of the longest use of a section within `MOST_LINES`."""
    texts = [(each.file, _as_yaml(path, each.value)) for each in _uses(path) if each.value]
    short = [each for each in texts if each[1].count("\n") <= MOST_LINES]
    return max(short, key=lambda each: each[1].count("\n"), default=None)


def flow(name: str, value: Any) -> str:
    """Return a field with its value on one line of YAML."""
    text = yaml.safe_dump({name: value}, default_flow_style=True, sort_keys=False, width=10_000)
    return text.strip().removeprefix("{").removesuffix("}")


def link_to_file(file: str) -> str:
    """Return a link from a page of fields to a file of this repository."""
    return f"[{file.removeprefix('environments/')}](../../{file})"


def _uses(path: YamlPath) -> Iterator[Example]:
    for file, content in _files():
        for value in _at(content, path):
            yield Example(file, value)


@cache
def _files() -> tuple[tuple[str, Any], ...]:
    found = [file for pattern in FILES for file in sorted(ROOT.glob(pattern))]
    return tuple(
        (file.relative_to(ROOT).as_posix(), yaml.safe_load(file.read_text("utf-8")))
        for file in found
    )


def _at(content: Any, path: YamlPath) -> Iterator[Any]:
    """Yield the values at a path; 0 matches every entry of a list."""
    if not path:
        yield content
    elif isinstance(content, list) and path[0] == 0:
        for entry in content:
            yield from _at(entry, path[1:])
    elif isinstance(content, dict) and path[0] in content:
        yield from _at(content[path[0]], path[1:])


def _as_yaml(path: YamlPath, value: Any) -> str:
    for part in reversed(path):
        value = [value] if part == 0 else {part: value}
    return yaml.safe_dump(value, sort_keys=False, width=WIDTH, allow_unicode=True)
