"""Computed values as plain data, for YAML and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from ipaddress import IPv4Network
from typing import Any


def plain(value: Any) -> Any:
    """Return `value` as mappings, lists, text and numbers; properties of dataclasses included."""
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        names += [name for name, member in vars(type(value)).items() if _is_property(member)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Set):
        return sorted(plain(item) for item in value)
    if isinstance(value, IPv4Network):
        return str(value)
    return value.value if isinstance(value, Enum) else value


def _is_property(member: object) -> bool:
    return isinstance(member, property)
