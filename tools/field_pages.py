"""Every field of an environment as pages of Markdown: docs/fields, one page per section."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel

from tools.field_examples import link_to_file, section_example
from tools.field_facts import facts, meaning
from tools.sections import (
    TOP,
    PlacedField,
    PlacedSection,
    ToldSection,
    address,
    page_of,
    place,
    told_sections,
)

INTRODUCTION = """\
# Fields

These pages list every field that an environment file may have. Each section of the file has a page.

| section | contents |
|---|---|
"""

LEGEND = """
Each field has its values, its default, and the version of slurmpod that introduced it. "A change"
is the effect of a later deployment with another value. [What a change does](../changes.md)
explains the terms, and lists the effects of all fields on one page. The examples are from
environments of this repository.

`slurmpod expand environments/dev.yaml` shows an environment with all of its defaults. Editors that
use [the schema](../../environments/schema.json) complete field names while you type. If fields
depend on each other, a [rule](../rules.md) says so.

`make golden` generates these pages from the fields in `slurmpod/environment/`.
"""


def field_pages(version: str, known: Mapping[str, str]) -> Mapping[str, str]:
    """Return the pages by name.

    `known` are the existing pages: a field that they lack is new in this `version`.
    """
    pages: dict[str, list[ToldSection]] = {}
    for told in told_sections():
        pages.setdefault(page_of(told.section.path), []).append(told)
    writer = _Writer(version, _since(known))
    texts = {f"{name}.md": writer.page(name, sections) for name, sections in pages.items()}
    return {"index.md": _index(pages), **texts}


def _since(pages: Mapping[str, str]) -> Mapping[str, str]:
    entry = r"^#+ `([^`]*)`$(?:(?!^#).)*?^- Since: (\S+)$"
    found = (re.findall(entry, page, re.MULTILINE | re.DOTALL) for page in pages.values())
    return dict(each for page in found for each in page)


def _index(pages: Mapping[str, Sequence[ToldSection]]) -> str:
    rows = (
        f"| [{_title(name)}]({name}.md) | {_about(told[0].section)} |\n"
        for name, told in pages.items()
    )
    return f"{INTRODUCTION}{''.join(rows)}{LEGEND}"


def _title(name: str) -> str:
    return "The top of the file" if name == TOP else f"`{name}`"


def _about(section: PlacedSection) -> str:
    return " ".join(str(section.model.__doc__).split())


@dataclass(frozen=True)
class _Writer:
    """Writer of sections; `since` has the versions of fields by path."""

    version: str
    since: Mapping[str, str]

    def page(self, name: str, sections: Sequence[ToldSection]) -> str:
        top, *inner = sections
        texts = (f"\n## `{each.section.place}`\n\n{self._section(each)}" for each in inner)
        return f"# {_title(name)}\n\n{self._section(top)}{''.join(texts)}"

    def _section(self, told: ToldSection) -> str:
        section = told.section
        facts = f"\n{self._facts(section.holder)}" if section.holder else ""
        snippet = _snippet(section) if told.fields else ""
        return f"{_what(told)}\n{facts}{snippet}{_like(told)}" + "".join(
            f"\n### `{place(each.path)}`\n\n{meaning(each)}\n\n{self._facts(each)}"
            for each in told.fields
            if not each.is_section
        )

    def _facts(self, field: PlacedField) -> str:
        since = self.since.get(place(field.path), self.version)
        return "".join(f"- {name}: {value}\n" for name, value in facts(field, since) if value)


def _what(told: ToldSection) -> str:
    """Return the description of a section; its field distinguishes it if the model is shared."""
    section = told.section
    if not section.holder or section.model not in _shared_models():
        return _about(section)
    return f"{meaning(section.holder)} {_about(section) if told.fields else ''}".strip()


@cache
def _shared_models() -> frozenset[type[BaseModel]]:
    """Return the models that several fields use."""
    return frozenset(told.like.model for told in told_sections() if told.like)


def _like(told: ToldSection) -> str:
    if not told.like:
        return ""
    link = f"[`{told.like.place}`]({address(told.like.holder.path)})" if told.like.holder else ""
    return f"\nIt has the fields of {link}{', but for these:' if told.fields else '.'}\n"


def _snippet(section: PlacedSection) -> str:
    found = section_example(section.path) if section.path else None
    if not found:
        return ""
    file, text = found
    return f"\n```yaml\n{text}```\n\nThis is from {link_to_file(file)}.\n"
