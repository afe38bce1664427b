"""Computed values as plain data, and plain data as YAML."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from ipaddress import IPv4Network
from typing import Any

import yaml
from pydantic import BaseModel


def plain(value: Any) -> Any:
    """Return `value` as mappings, lists, text and numbers; properties of dataclasses included.

    Sections of the environment to which a dataclass refers are left out, and their places in its
    file: who wants them has the environment. Contents of files are shown by their hash.
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.type != "YamlPath"]
        names += [name for name, member in vars(type(value)).items() if _is_property(member)]
        members = {name: getattr(value, name) for name in names}
        own = {name: each for name, each in members.items() if not isinstance(each, BaseModel)}
        return {name: plain(each) for name, each in own.items()}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
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
"""Line breaks in YAML 1.1 that PyYAML writes as they are, and reads as others or not at all."""


class _Dumper(yaml.SafeDumper):
    """Escapes those line breaks."""


def yaml_text(data: Any) -> str:
    """Return data as block YAML, keys in their order, long texts in one line."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if OTHER_LINE_BREAKS & set(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
