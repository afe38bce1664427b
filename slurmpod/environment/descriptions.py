"""Descriptions of fields, and the values that they accept, in the words of error messages."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from ipaddress import IPv4Network
from types import MappingProxyType, NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from slurmpod.environment.environment import Environment
from slurmpod.environment.known import Known
from slurmpod.problems import YamlPath

KEY = "[key]"
"""The path element by which pydantic marks a mapping's key rather than its value."""


@cache
def descriptions(section: type[BaseModel]) -> Mapping[str, str]:
    """Return the description of every field of a section, inherited ones too."""
    found: dict[str, str] = {}
    for ancestor in reversed(section.__mro__):
        if issubclass(ancestor, BaseModel) and ancestor.model_fields:
            found |= _own_descriptions(ancestor)
    return MappingProxyType(found)


def _own_descriptions(section: type[BaseModel]) -> dict[str, str]:
    definition = ast.parse(textwrap.dedent(inspect.getsource(section))).body[0]
    assert isinstance(definition, ast.ClassDef)  # noqa: S101  # the source of a class is a class
    return {
        field.target.id: " ".join(str(doc.value.value).split())
        for field, doc in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(doc, ast.Expr)
        and isinstance(doc.value, ast.Constant)
    }


def description_of(path: YamlPath, root: type[BaseModel] = Environment) -> str:
    """Return the description of the field at `path`; empty without a field, as for a list entry."""
    section = section_at(path[:-1], root) if path else None
    return descriptions(section).get(str(path[-1]), "") if section else ""


def section_at(path: YamlPath, root: type[BaseModel] = Environment) -> type[BaseModel] | None:
    """Return the model of the mapping at `path`, or None."""
    field = field_at(path, root)
    return section_in(field) if field else None


def field_at(path: YamlPath, root: type[BaseModel] = Environment) -> FieldInfo | None:
    """Return the type and limits of the value at `path`, also of entries of lists and mappings."""
    field: FieldInfo | None = FieldInfo.from_annotation(root)
    for part in path:
        field = _inside(field, part) if field else None
    return field


def type_of(field: FieldInfo) -> Any:
    """Return a field's type without its `None`."""
    types = [inner for inner in get_args(field.annotation) if inner is not NoneType]
    return types[0] if NoneType in get_args(field.annotation) else field.annotation


def section_in(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a field that is a mapping with known keys, or None."""
    kind = type_of(field)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def all_sections() -> Iterator[type[BaseModel]]:
    """Return every section of an environment, from the top, each before those inside it."""
    sections: list[type[BaseModel]] = [Environment]
    for section in sections:
        yield section
        for field in section.model_fields.values():
            inner = section_in(field) or entry_section(field)
            if inner and inner not in sections:
                sections.append(inner)


def entry_section(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a list's entries, or None if it is not a list of mappings."""
    entry = _inside(field, 0)
    return section_in(entry) if entry else None


def _inside(field: FieldInfo, part: str | int) -> FieldInfo | None:
    kind = type_of(field)
    section = section_in(field)
    if section:
        inner = section.model_fields.get(str(part))
        return _without_alias(inner) if inner else None
    if get_origin(kind) is tuple and isinstance(part, int):
        return FieldInfo.from_annotation(get_args(kind)[0])
    if get_origin(kind) is dict and isinstance(part, str):
        key, value = get_args(kind)
        return FieldInfo.from_annotation(key if part == KEY else value)
    return None


def _without_alias(field: FieldInfo) -> FieldInfo:
    """Return the field with the limits of `Zone | None`, which pydantic leaves inside the union."""
    kind = type_of(field)
    if get_origin(kind) is not Annotated:
        return field
    inner = FieldInfo.from_annotation(kind)
    inner.default = field.default
    return inner


def expectation(field: FieldInfo) -> str:
    """Describe the accepted values: `a whole number from 0 to 6758`, `one of LZ4, NONE`."""
    kind = type_of(field)
    section = section_in(field)
    if section:
        return f"a mapping with the keys {', '.join(section.model_fields)}"
    if choices := choices_of(field):
        newer = ", or what AWS has added since" if known_in(field) else ""
        return "one of " + ", ".join(str(choice) for choice in choices) + newer
    if kind is bool:
        return "true or false"
    if kind in (int, float):
        number = "a whole number" if kind is int else "a number"
        return number + _between(limit(field, "ge"), limit(field, "le"), range_word="from")
    if kind is IPv4Network:
        return f"an IPv4 range such as {example_of(field)}"
    size = _between(limit(field, "min_length"), limit(field, "max_length"))
    if kind is str:
        such_as = f" such as {example_of(field)}" if field.examples else ""
        return "text" + (f"{size} characters" if size else "") + such_as
    shape = "a list" if get_origin(kind) is tuple else "a mapping (key: value)"
    return f"{shape}{size} entries" if size else shape


def example_of(field: FieldInfo) -> str:
    """Return an example value of `field`, as written in YAML."""
    choices = choices_of(field)
    if choices:
        return str(choices[0])
    if field.examples:
        example = str(field.examples[0])
        return f'"{example}"' if example.isdigit() else example
    if type_of(field) is int:
        return str(limit(field, "ge") or 0)
    return "" if section_in(field) else "..."


def choices_of(field: FieldInfo) -> tuple[Any, ...]:
    """Return the values that `field` accepts if they are few and known; otherwise none."""
    kind = type_of(field)
    if known := known_in(field):
        return known.fact.numbers if kind is int else known.fact.values
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(member.value for member in kind)
    return ()


def known_in(field: FieldInfo) -> Known | None:
    """Return the known values of a field that AWS may extend."""
    return next((each for each in field.metadata if isinstance(each, Known)), None)


def limit(field: FieldInfo, name: str) -> Any:
    """Return a limit that `field` declares (`ge`, `le`, `max_length`, `pattern` ...), or None."""
    found = (getattr(constraint, name, None) for constraint in field.metadata)
    return next((value for value in found if value is not None), None)


def _between(least: float | None, most: float | None, *, range_word: str = "of") -> str:
    if least is not None and most is not None:
        return f" {range_word} {least} to {most}"
    if most is not None:
        return f" of at most {most}"
    return f" of at least {least}" if least else ""
