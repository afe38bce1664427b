"""Dataclasses as JSON, and JSON as dataclasses, by the types of their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Kind = TypeVar("Kind")


def from_json(kind: type[Kind], data: object) -> Kind:
    """Make a dataclass instance from the result of json.loads().

    The fields must match exactly: whatever wrote the file has the same ones. Raises KeyError for a
    missing field, TypeError or ValueError for other mistakes.
    """
    return cast("Kind", _value(kind, data))


def to_json(value: object) -> Any:
    """Convert a dataclass instance to data for json.dumps(): the inverse of from_json()."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return value


def _value(kind: Any, data: Any) -> object:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(arguments, data)
    if origin is tuple:
        return tuple(_value(arguments[0], each) for each in _checked(list, data))
    if origin is Sequence:
        return [_value(arguments[0], each) for each in _checked(list, data)]
    if origin is Mapping:
        return {name: _value(arguments[1], each) for name, each in _checked(dict, data).items()}
    if is_dataclass(kind):
        return _instance(kind, _checked(dict, data))
    if issubclass(kind, Enum):
        return kind(data)
    return _checked(kind, data)


def _instance(kind: Any, data: Mapping[str, object]) -> object:
    hints = get_type_hints(kind)
    if unknown := sorted(data.keys() - hints.keys()):
        raise TypeError(f"{kind.__name__} has no {', '.join(unknown)}")
    return kind(**{name: _value(hint, data[name]) for name, hint in hints.items()})


def _one_of(kinds: tuple[Any, ...], data: object) -> object:
    """Read data as the first kind that fits, or as the first one if none does."""
    if data is None and NoneType in kinds:
        return None
    return _value(next((each for each in kinds if _in_json(each) is type(data)), kinds[0]), data)


def _in_json(kind: Any) -> Any:
    if is_dataclass(kind):
        return dict
    return {Mapping: dict, Sequence: list, tuple: list}.get(get_origin(kind), kind)


def _checked(kind: type[Kind], data: object) -> Kind:
    if type(data) is not kind:
        raise TypeError(f"{data!r} is no {kind.__name__}")
    return data
