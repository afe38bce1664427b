"""Checks of plain data against an AWS API model: required members, types, lengths, patterns, enums.

A model is the one that AWS publishes for its SDKs, as plain data: shapes by name, each with type,
members and limits. Nothing here loads one or needs an SDK. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "double": (int, float),
    "float": (int, float),
    "integer": (int,),
    "list": (list, tuple),
    "long": (int,),
    "map": (dict,),
    "string": (str,),
    "structure": (dict,),
}
"""The Python type of each model type; timestamps have too many forms to check."""


class Violation(NamedTuple):
    """A value that the model does not allow; `path` has members and, for lists, indexes from 0.

    `shape` is the name of the violated shape, `constraint` is AWS's wording. `value` is None if a
    member is missing.
    """

    path: tuple[str | int, ...]
    shape: str
    value: Any
    constraint: str


def violations(
    shapes: Mapping[str, Any], name: str, value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[Violation]:
    """Yield everything in `value` that the named shape does not allow."""
    shape = shapes[name]
    expected = _PYTHON_TYPES.get(shape["type"])
    if expected and not _is_a(value, expected):
        yield Violation(path, name, value, f"Member must be of type {shape['type']}")
        return
    if shape["type"] == "structure":
        yield from _members(shapes, name, value, path)
        return
    for constraint in _broken(shape, value):
        yield Violation(path, name, value, constraint)
    if shape["type"] == "list":
        for index, item in enumerate(value):
            yield from violations(shapes, shape["member"]["shape"], item, (*path, index))
    elif shape["type"] == "map":
        for key, item in value.items():
            yield from violations(shapes, shape["value"]["shape"], item, (*path, str(key)))


def missing(path: tuple[str | int, ...], shape: str) -> Violation:
    """Return the violation for a missing required member."""
    return Violation(path, shape, None, "Member must not be null")


def _is_a(value: Any, expected: tuple[type, ...]) -> bool:
    return isinstance(value, expected) and (bool in expected or not isinstance(value, bool))


def _members(
    shapes: Mapping[str, Any], name: str, value: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Violation]:
    shape = shapes[name]
    for member in shape.get("required", ()):
        if member not in value:
            yield missing((*path, member), name)
    for member, item in value.items():
        if member in shape["members"]:
            yield from violations(shapes, shape["members"][member]["shape"], item, (*path, member))
        else:
            yield Violation((*path, member), name, item, "Member is not known")


def _broken(shape: Mapping[str, Any], value: Any) -> Iterator[str]:
    yield from _limits(shape, value)
    pattern = _compiled(shape.get("pattern", ""))
    if isinstance(value, str) and pattern is not None and not pattern.fullmatch(value):
        yield f"Member must satisfy regular expression pattern: {pattern.pattern}"
    if shape.get("enum") and value not in shape["enum"]:
        yield f"Member must satisfy enum value set: [{', '.join(shape['enum'])}]"


def _limits(shape: Mapping[str, Any], value: Any) -> Iterator[str]:
    is_sized = hasattr(value, "__len__")
    measure = len(value) if is_sized else value
    if not isinstance(measure, int | float):
        return
    what = "length" if is_sized else "value"
    if measure < shape.get("min", measure):
        yield f"Member must have {what} greater than or equal to {shape['min']}"
    if measure > shape.get("max", measure):
        yield f"Member must have {what} less than or equal to {shape['max']}"


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Compile a pattern; patterns in Java's dialect that Python cannot parse are not checked."""
    try:
        return re.compile(pattern) if pattern else None
    except re.error:
        return None
