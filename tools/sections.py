"""The sections of an environment at their paths, and the effects of changes as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from slurmpod.environment.base import IN_PLACE, Effect, Kind, effect_of
from slurmpod.environment.descriptions import (
    descriptions,
    entry_section,
    field_at,
    section_in,
    type_of,
)
from slurmpod.environment.environment import Environment
from slurmpod.problems import YamlPath

IN_CUSTOMER_MODE = "in customer mode"
NEEDS_SUBJECT = (
    (re.compile(r"^(?=changed|upgraded)"), "it is "),
    (re.compile(r"^(?=counts|encrypts)"), "it "),
)
"""Subjects for effects that `slurmpod diff` shows below their field, and so without one."""


@dataclass(frozen=True)
class PlacedField:
    """A field of a model at its path in a file; the path has 0 for the entries of a list."""

    path: YamlPath
    model: type[BaseModel]
    declared: FieldInfo
    description: str

    @property
    def is_section(self) -> bool:
        """Whether the field holds a section or a list of sections."""
        return bool(section_in(self.declared) or entry_section(self.declared))

    @property
    def accepted(self) -> FieldInfo:
        """The field with its limits; it lacks the effect of changes."""
        found = field_at(self.path)
        assert found  # noqa: S101  # the path is one of an environment
        return found


@dataclass(frozen=True)
class PlacedSection:
    """A section at its path in a file, and the field that holds it; the top level has none."""

    path: YamlPath
    model: type[BaseModel]
    holder: PlacedField | None = None

    @property
    def place(self) -> str:
        """The path of the field that holds the section, as pages write it."""
        return place(self.holder.path) if self.holder else ""

    @property
    def fields(self) -> Sequence[PlacedField]:
        """The fields of the section, in their order."""
        texts = descriptions(self.model)
        return [
            PlacedField((*self.path, name), self.model, field, texts[name])
            for name, field in self.model.model_fields.items()
        ]


@dataclass(frozen=True)
class ToldSection:
    """A section with the fields that are described there; the others are described at `like`."""

    section: PlacedSection
    fields: Sequence[PlacedField]
    like: PlacedSection | None = None


def told_sections() -> Iterator[ToldSection]:
    """Yield every section at every path, before the sections inside it, and each field once."""
    first: dict[type[BaseModel], PlacedSection] = {}
    for section in _sections(PlacedSection((), Environment)):
        like = first.get(section.model) or first.get(section.model.__bases__[0])
        first.setdefault(section.model, section)
        if not like:
            yield ToldSection(section, section.fields)
            continue
        own = () if like.model is section.model else vars(section.model)["__annotations__"]
        news = [field for field in section.fields if field.path[-1] in own]
        yield ToldSection(section, news, like)


def all_places(field: PlacedField) -> Iterator[YamlPath]:
    """Yield the path of the field, then those of other sections with the same field."""
    yield field.path
    for section in _sections(PlacedSection((), Environment)):
        if issubclass(section.model, field.model):
            yield (*section.path, field.path[-1])


def _sections(section: PlacedSection) -> Iterator[PlacedSection]:
    yield section
    for field in section.fields:
        inner, entry = section_in(field.declared), entry_section(field.declared)
        if inner:
            yield from _sections(PlacedSection(field.path, inner, field))
        elif entry:
            yield from _sections(PlacedSection((*field.path, 0), entry, field))


def place(path: YamlPath) -> str:
    """Return a path as pages write it, such as `cluster.groups[].count`."""
    return ".".join(map(str, path)).replace(".0", "[]")


TOP = "environment"
"""The page of the fields at the top level of a file, outside of sections."""


def page_of(path: YamlPath) -> str:
    """Return the name of the page with the heading of a field or section."""
    field = Environment.model_fields[str(path[0])] if path else None
    return str(path[0]) if field and section_in(field) else TOP


def address(path: YamlPath) -> str:
    """Return the link to the heading of a field or section, from a page of the same folder."""
    anchor = re.sub(r"[^\w-]", "", place(path))
    return f"{page_of(path)}.md#{anchor}"


def cases(field: PlacedField) -> Iterator[tuple[str, Effect]]:
    """Yield the other effects of a field, each with its condition."""
    effect = effect_of(field.declared)
    if effect.less:
        yield _less(field.declared), effect.less
    if effect.removed:
        yield "taken out", effect.removed
    if effect.in_customer_mode:
        yield IN_CUSTOMER_MODE, effect.in_customer_mode


def _less(field: FieldInfo) -> str:
    kind = type_of(field)
    if kind is bool:
        return "switched off"
    return "fewer entries" if get_origin(kind) is tuple else "a smaller value"


def sentences(effect: Effect) -> str:
    """Return the meaning of an effect, whose parts `;` separates, as full sentences.

    The result is empty if the meaning adds nothing to the kind.
    """
    parts = effect.meaning.split("; ")
    more = parts[1:] if parts[0] == IN_PLACE.meaning and effect.kind is Kind.IN_PLACE else parts
    return " ".join(map(_sentence, more))


def _sentence(text: str) -> str:
    for pattern, subject in NEEDS_SUBJECT:
        text = pattern.sub(subject, text)
    return f"{text[0].upper()}{text[1:]}."
