"""What changing each field does, as a page of Markdown: docs/changes.md is made of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.changes.effects import EFFECTS, IN_CUSTOMER_MODE, LESS
from slurmpod.model.descriptions import entry_section, section_in
from slurmpod.model.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

INTRODUCTION = """\
# What a change does

`slurmpod diff environments/dev.yaml` compares a file with what was deployed last, and says of every
difference what a deployment would do with it. This page has the same for every field.

What counts is what a file comes to: to write out a default, or to move people into the file of
users, changes nothing. Of files that an environment names, the contents are compared.

| kind | meaning |
|---|---|
| in place | nothing is interrupted beyond what the text says |
| new nodes only | nodes that run keep what they have |
| loses something | nodes or data go; a protected environment refuses it |
| replaces | made anew beside the old one; a protected environment refuses it |
| refused | AWS would fail the deployment, so `slurmpod diff` fails |

This page is made from `slurmpod/changes/effects.py` by `make golden`.
"""


def changes_page() -> str:
    """Return the page: the sections of an environment in their order, each with its fields."""
    return "\n".join((INTRODUCTION, *_sections(Environment, "")))


def _sections(section: type[BaseModel], path: str) -> Iterator[str]:
    yield f"## {path or 'The top of the file'}\n"
    yield "| field | a change is | and that means |\n|---|---|---|"
    yield from (_row(section, name) for name in section.model_fields)
    yield ""
    for name, field in section.model_fields.items():
        inner, entry = section_in(field), entry_section(field)
        below = f"{path}.{name}" if path else name
        if inner:
            yield from _sections(inner, below)
        elif entry:
            yield from _sections(entry, f"{below}[]")


def _row(section: type[BaseModel], name: str) -> str:
    effect = EFFECTS[section][name]
    less = next((LESS[kind, name] for kind in section.__mro__ if (kind, name) in LESS), None)
    own = IN_CUSTOMER_MODE.get((section, name))
    meaning = effect.meaning + (f"; less: {less.kind}, {less.meaning}" if less else "")
    meaning += f"; in customer mode: {own.kind}, {own.meaning}" if own else ""
    return f"| `{name}` | {effect.kind} | {meaning} |"
