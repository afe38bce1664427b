"""Accepted values of a field, in words: the part of an error message that says what to write."""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from slurmpod.environment.descriptions import section_in, type_of

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def expectation(field: FieldInfo) -> str:
    """Say what `field` accepts: `a whole number from 0 to 6758`, `one of LZ4, NONE`."""
    kind = type_of(field)
    section = section_in(field)
    if section:
        return f"a mapping with the keys {', '.join(section.model_fields)}"
    if choices := choices_of(field):
        return "one of " + ", ".join(str(choice) for choice in choices)
    if kind is bool:
        return "true or false"
    if kind is int:
        return "a whole number" + _between(
            limit(field, "ge"), limit(field, "le"), range_word="from"
        )
    if kind is IPv4Network:
        return f"an IPv4 range such as {example_of(field)}"
    size = _between(limit(field, "min_length"), limit(field, "max_length"))
    if kind is str:
        such_as = f" such as {example_of(field)}" if field.examples else ""
        return "text" + (f"{size} characters" if size else "") + such_as
    shape = "a list" if get_origin(kind) is tuple else "a mapping (key: value)"
    return f"{shape}{size} entries" if size else shape


def example_of(field: FieldInfo) -> str:
    """Return something that `field` accepts, as it is written in YAML."""
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
    """Return the values that `field` accepts where these are few and known; otherwise none."""
    kind = type_of(field)
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(member.value for member in kind)
    return ()


def limit(field: FieldInfo, name: str) -> Any:
    """Return a limit that `field` declares (`ge`, `le`, `max_length`, `pattern` ...), or None."""
    found = (getattr(constraint, name, None) for constraint in field.metadata)
    return next((value for value in found if value is not None), None)


def _between(least: int | None, most: int | None, *, range_word: str = "of") -> str:
    if least is not None and most is not None:
        return f" {range_word} {least} to {most}"
    if most is not None:
        return f" of at most {most}"
    return f" of at least {least}" if least else ""
