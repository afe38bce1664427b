"""What can stand in for a value that is wrong or missing, so that the rest can be judged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_origin

from slurmpod.model.descriptions import field_at, section_at, section_in, type_of
from slurmpod.model.expectations import choices_of, limit

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from slurmpod.problems import YamlPath

LEFT_OUT = object()
"""Stands for no value at all: the default holds."""

ROLES = 3
"""What a group is for matters most to rules: no choice that does has more values."""

WAYS = 2 * ROLES
"""Ways in which something stands in for a value, beside way 0 with as little as possible: every
choice with the first kind of all other values, and every choice with the second."""

LARGEST_NUMBER = 1_000_000
"""Stands in for a number that has no upper limit."""


def stand_in(path: YamlPath, way: int, hint: str = "") -> Any:
    """Return what stands at `path` in that way; in all but the first, mappings have every key.

    With a `hint`, a text is what it finds of its form in that: a zone's name holds its Region.
    """
    field = field_at(path)
    if field is None or (way == 0 and _may_be_left_out(field, path)):
        return LEFT_OUT
    kind, second = type_of(field), way > ROLES
    if section_in(field):
        return with_every_key(path, {}, way, hint)
    if get_origin(kind) is dict:
        return {}
    if get_origin(kind) is tuple:
        return [stand_in((*path, 0), way, hint)]
    if choices := choices_of(field):
        return choices[(way - 1) % len(choices)]
    if kind is bool:
        return second
    return _number(field, second=second) if kind is int else _text(field, hint, second=second)


def with_every_key(path: YamlPath, mapping: Any, way: int, hint: str = "") -> Any:
    """Return a mapping with what stands in for the keys that it lacks.

    Way 0 adds none of them, and the later ones none that are mappings: these exclude other keys.
    """
    section = section_at(path)
    if way == 0 or section is None:
        return mapping
    places = {name: (*path, name) for name in section.model_fields if name not in mapping}
    return mapping | {
        name: stand_in(place, way, hint)
        for name, place in places.items()
        if way <= ROLES or not section_at(place)
    }


def _may_be_left_out(field: FieldInfo, path: YamlPath) -> bool:
    """Tell what is no needed key, and no entry of a list: the next ones would move up."""
    is_needed = section_at(path[:-1]) is not None and field.is_required()
    return isinstance(path[-1], str) and not is_needed


def _number(field: FieldInfo, *, second: bool) -> int:
    least, most = limit(field, "ge"), limit(field, "le")
    if second:
        return LARGEST_NUMBER if most is None else int(most)
    return int(least or 0)


def _text(field: FieldInfo, hint: str, *, second: bool) -> str:
    pattern = (limit(field, "pattern") or "").removeprefix("^").removesuffix("$")
    if pattern and (found := re.search(pattern, hint)):
        return found[0]
    examples = [str(example) for example in field.examples or ["some text"]]
    last = examples[-1]
    others = [*examples[1:], re.sub(r"[a-z0-9](?=[^a-z0-9]*$)", _following, last)]
    return others[0] if second else examples[0]


def _following(last: re.Match[str]) -> str:
    return {"z": "a", "9": "0"}.get(last[0], chr(ord(last[0]) + 1))
