"""Facts about a field of an environment: values, unit, default, effect of a change, example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from slurmpod.environment.base import effect_of
from slurmpod.environment.descriptions import entry_section, expectation, section_in, type_of
from tools.field_examples import example, flow, link_to_file
from tools.sections import PlacedField, all_places, cases, sentences

UNITS = {
    "_mbps_per_tib": "MB/s for each TiB",
    "_mbps": "MB/s",
    "_gib_per_hour": "GiB per hour",
    "_gib": "GiB",
    "_iops": "operations per second",
    "_days": "days",
    "_minutes": "minutes",
    "_seconds": "seconds",
    "_percent": "percent",
    "_usd": "US dollars",
    "_weight": "points of priority",
}
"""Units by the suffix of a field's name; the first match counts."""

LONGEST_EXAMPLE = 80
_DEFAULT = re.compile(r"[;.] default: (.*)\.$", re.IGNORECASE)


def meaning(placed: PlacedField) -> str:
    """Return the description of a field, without its default."""
    return _DEFAULT.sub(".", placed.description)


def facts(placed: PlacedField, since: str) -> Iterator[tuple[str, str]]:
    """Yield the facts of a field with their names; a fact may be empty."""
    yield "Values", _values(placed)
    yield "Unit", _unit(str(placed.path[-1]))
    yield "Default", _default(placed)
    yield "Since", since
    yield "A change", _change(placed)
    yield "Example", "" if placed.is_section else _example(placed)


def _values(placed: PlacedField) -> str:
    field = placed.declared
    if section_in(field):
        optional = NoneType in get_args(field.annotation)
        return "a section with these fields" + (", or `null` for none" if optional else "")
    if entry_section(field):
        return f"{expectation(placed.accepted)}, each with these fields"
    if get_origin(type_of(field)) is tuple:
        entry = FieldInfo.from_annotation(get_args(type_of(field))[0])
        return f"{expectation(placed.accepted)}; each is {expectation(entry)}"
    return expectation(placed.accepted)


def _unit(name: str) -> str:
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), "")


def _default(placed: PlacedField) -> str:
    field, described = placed.declared, _DEFAULT.search(placed.description)
    if described:
        return described[1]
    if field.is_required():
        return "none; required"
    value: Any = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel):
        return "the section with the defaults of its fields"
    if value is None:
        return "left out"
    return f"`{_written(value)}`" if value not in ((), {}, "") else "empty"


def _written(value: Any) -> str:
    plain = value.value if isinstance(value, Enum) else value
    return plain if isinstance(plain, str) else json.dumps(plain)


def _change(placed: PlacedField) -> str:
    effect = effect_of(placed.declared)
    parts = [f"**{effect.kind}**.", sentences(effect)]
    for when, other in cases(placed):
        parts += [f"{when[0].upper()}{when[1:]}: **{other.kind}**.", sentences(other)]
    return " ".join(filter(None, parts))


def _example(placed: PlacedField) -> str:
    used = next(filter(None, map(example, all_places(placed))), None)
    if not used:
        return ""
    text = flow(str(placed.path[-1]), used.value)
    return (
        f"`{text}`, in {link_to_file(used.file)}"
        if len(text) <= LONGEST_EXAMPLE
        else link_to_file(used.file)
    )
