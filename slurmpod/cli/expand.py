"""`slurmpod expand`: every value of an environment with its origin, and what it resolves to."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from ipaddress import IPv4Network
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml
from pydantic import BaseModel

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say_next
from slurmpod.environment.editions import CHOSEN, FIRST
from slurmpod.problems import ExitCode, YamlPath, format_path
from slurmpod.reading.yaml_source import YamlSource


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--json", action="store_true", help="print JSON instead of YAML")


def run(options: argparse.Namespace) -> ExitCode:
    """Print the environment (its files and defaults) and its resolved form."""
    sound = sound_environment(options.file)
    environment, source = plain(sound.environment), sound.source
    resolved = plain(sound.resolved)
    data = {"environment": environment, "resolved": resolved}
    if options.json:
        print_json({**data, "origins": origins(environment, source)})
        return ExitCode.OK
    sys.stdout.write("environment:\n" + indent(with_origins(environment, source), "  "))
    sys.stdout.write(yaml_text({"resolved": resolved}))
    say_next("rehearse", options.file)
    return ExitCode.OK


DEFAULT = "default"

LINE_LIMIT = 60
"""Comments of all lines are aligned to the longest line up to this length."""


def origins(environment: dict[str, Any], source: YamlSource) -> dict[str, str]:
    """Return the origin of each value by its path.

    It is a `file:line`, or `default`, or `edition 2026` for a default of the file's edition.
    """
    origin = _Origin(environment, source)
    return {format_path(path): origin.of(path) for path in _leaves(environment)}


def with_origins(environment: dict[str, Any], source: YamlSource) -> str:
    """Return an environment as YAML, with the origin of each value in a comment.

    Files are named relative to the environment's folder: usually by name alone.
    """
    text = yaml_text(environment)
    lines = text.splitlines(keepends=True)
    document = yaml.compose(text, Loader=yaml.SafeLoader)
    assert document  # noqa: S101  # an environment is never empty
    last_lines = dict(_last_lines(document))
    column = min(LINE_LIMIT, max(len(lines[number]) - 1 for number in last_lines.values()))
    origin = _Origin(environment, source, Path(source.file).parent)
    for path, number in last_lines.items():
        comment = origin.of(path)
        shown = comment if comment.isprintable() else ascii(comment)
        line = lines[number].removesuffix("\n")
        lines[number] = f"{line:<{column}}  # {shown}\n"
    return "".join(lines)


def _leaves(value: Any, path: YamlPath = ()) -> Iterator[YamlPath]:
    """Return the paths of all leaf values."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        if item and isinstance(item, dict | list):
            yield from _leaves(item, (*path, key))
        else:
            yield (*path, key)


def _last_lines(node: yaml.Node, path: YamlPath = ()) -> Iterator[tuple[YamlPath, int]]:
    """Return the path of each leaf value and the index of its last line."""
    if isinstance(node, yaml.MappingNode) and node.value:
        for key, value in node.value:
            yield from _last_lines(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode) and node.value:
        for index, value in enumerate(node.value):
            yield from _last_lines(value, (*path, index))
    else:
        yield path, node.end_mark.line


@dataclass(frozen=True)
class _Origin:
    """Origins of values; files are named relative to a folder, if one is given."""

    environment: Mapping[str, Any]
    source: YamlSource
    folder: Path | None = None

    def of(self, path: YamlPath) -> str:
        """Return the origin of the value at a path."""
        position = self.source.values.get(path)
        if not position:
            return self._default(path)
        file, line, _ = position
        return f"{os.path.relpath(file, self.folder) if self.folder else file}:{line}"

    def _default(self, path: YamlPath) -> str:
        edition = self.environment.get("edition", FIRST)
        return f"edition {edition}" if path in CHOSEN and edition != FIRST else DEFAULT


def plain(value: Any) -> Any:
    """Return `value` as mappings, lists, text and numbers, including properties of dataclasses.

    Leaves out sections of the environment that a dataclass refers to, and their places in its
    file: they are in the environment itself. Contents of files are shown by their hash.
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.type != "YamlPath"]
        names += [name for name, member in vars(type(value)).items() if _is_property(member)]
        members = {name: getattr(value, name) for name in names}
        own = {name: each for name, each in members.items() if not isinstance(each, BaseModel)}
        return {name: plain(each) for name, each in own.items()}
    if isinstance(value, BaseModel):
        return {name: plain(each) for name, each in value}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Set):
        return sorted(plain(item) for item in value)
    if isinstance(value, bytes):
        return f"sha256:{hashlib.sha256(value).hexdigest()}"
    if isinstance(value, IPv4Network):
        return str(value)
    return value.value if isinstance(value, Enum) else value


def _is_property(member: object) -> bool:
    return isinstance(member, property)


OTHER_LINE_BREAKS = frozenset("\x85\u2028\u2029")
"""Line breaks in YAML 1.1 that PyYAML writes unescaped, and reads differently or not at all."""


class _Dumper(yaml.SafeDumper):
    """Escapes those line breaks."""


def yaml_text(data: Any) -> str:
    """Return data as block YAML, keys in their order, long texts in one line."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if OTHER_LINE_BREAKS & set(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
