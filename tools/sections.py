"""The sections of an environment at their places, and effects of changes in whole sentences."""

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
"""How meanings begin that `slurmpod diff` shows below the field of which they speak."""


@dataclass(frozen=True)
class PlacedField:
    """A field of a model where a file has it; its path has 0 for the entries of a list."""

    path: YamlPath
    model: type[BaseModel]
    declared: FieldInfo
    description: str

    @property
    def is_section(self) -> bool:
        """Whether it holds a section, or a list of sections."""
        return bool(section_in(self.declared) or entry_section(self.declared))

    @property
    def accepted(self) -> FieldInfo:
        """The field with its limits at the surface; it lacks what changes do."""
        found = field_at(self.path)
        assert found  # noqa: S101  # the path is one of an environment
        return found


@dataclass(frozen=True)
class PlacedSection:
    """A section where a file has it, and the field that holds it; the top has none."""

    path: YamlPath
    model: type[BaseModel]
    holder: PlacedField | None = None

    @property
    def place(self) -> str:
        """Where the field stands that holds it, as pages write it."""
        return place(self.holder.path) if self.holder else ""

    @property
    def fields(self) -> Sequence[PlacedField]:
        """The fields of the section, in their order."""
        told = descriptions(self.model)
        return [
            PlacedField((*self.path, name), self.model, field, told[name])
            for name, field in self.model.model_fields.items()
        ]


@dataclass(frozen=True)
class ToldSection:
    """A section with the fields that are told of there; the others are told of at `like`."""

    section: PlacedSection
    fields: Sequence[PlacedField]
    like: PlacedSection | None = None


def told_sections() -> Iterator[ToldSection]:
    """Return every section at every place, each before those inside it, and each field once."""
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
    """Return where else sections with this field stand, after its own place."""
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
"""The page of what stands at the top of a file and has no section."""


def page_of(path: YamlPath) -> str:
    """Return the name of the page on which a field or section has its heading."""
    field = Environment.model_fields[str(path[0])] if path else None
    return str(path[0]) if field and section_in(field) else TOP


def address(path: YamlPath) -> str:
    """Return where the heading of a field or section is, as a link from beside these pages."""
    anchor = re.sub(r"[^\w-]", "", place(path))
    return f"{page_of(path)}.md#{anchor}"


def cases(field: PlacedField) -> Iterator[tuple[str, Effect]]:
    """Return the other effects of a field, with the words for when they hold."""
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
    """Return what an effect means, which `;` divides, as sentences with a subject each.

    Empty where it means no more than its kind says.
    """
    parts = effect.meaning.split("; ")
    more = parts[1:] if parts[0] == IN_PLACE.meaning and effect.kind is Kind.IN_PLACE else parts
    return " ".join(map(_sentence, more))


def _sentence(text: str) -> str:
    for pattern, subject in NEEDS_SUBJECT:
        text = pattern.sub(subject, text)
    return f"{text[0].upper()}{text[1:]}."
