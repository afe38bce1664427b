"""The constraints of an API's own model: required members, lengths, ranges, patterns, enums.

SDKs check required members and types; the services check the rest, with these words.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.model import ListShape, MapShape, StructureShape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from botocore.model import Shape


def violations(service: str, operation: str, given: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the input of an operation, one sentence per violation."""
    shape = _model(service).operation_model(operation).input_shape
    return list(_check(shape, given, "")) if shape is not None else []


def summary(problems: list[str]) -> str:
    """Return violations in one sentence, as AWS answers them."""
    noun = "error" if len(problems) == 1 else "errors"
    return f"{len(problems)} validation {noun} detected: {'; '.join(problems)}"


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def _check(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        for name in shape.required_members:
            if name not in value:
                yield _sentence(None, _join(path, name), "Member must not be null")
        for name, item in value.items():
            if name in shape.members:
                yield from _check(shape.members[name], item, _join(path, name))
        return
    yield from _check_value(shape, value, path)
    if isinstance(shape, ListShape):
        for number, item in enumerate(value, start=1):
            yield from _check(shape.member, item, f"{path}.{number}.member")
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from _check(shape.value, item, _join(path, str(key)))


def _check_value(shape: Shape, value: Any, path: str) -> Iterator[str]:
    metadata = shape.metadata
    measure = len(value) if hasattr(value, "__len__") else value
    what = "length" if hasattr(value, "__len__") else "value"
    if isinstance(measure, int):
        if measure < metadata.get("min", measure):
            limit = f"{what} greater than or equal to {metadata['min']}"
            yield _sentence(value, path, f"Member must have {limit}")
        if measure > metadata.get("max", measure):
            limit = f"{what} less than or equal to {metadata['max']}"
            yield _sentence(value, path, f"Member must have {limit}")
    pattern = _compiled(metadata.get("pattern", ""))
    if isinstance(value, str) and pattern is not None and not pattern.fullmatch(value):
        text = f"Member must satisfy regular expression pattern: {pattern.pattern}"
        yield _sentence(value, path, text)
    if metadata.get("enum") and value not in metadata["enum"]:
        allowed = ", ".join(metadata["enum"])
        yield _sentence(value, path, f"Member must satisfy enum value set: [{allowed}]")


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Compile a pattern; those of Java's dialect that Python cannot read are not checked."""
    try:
        return re.compile(pattern) if pattern else None
    except re.error:
        return None


def _join(path: str, name: str) -> str:
    member = name[0].lower() + name[1:]
    return f"{path}.{member}" if path else member


def _sentence(value: Any, path: str, constraint: str) -> str:
    shown = "null" if value is None else f"'{value}'"
    return f"Value {shown} at '{path}' failed to satisfy constraint: {constraint}"
