"""The effects of changing each field as a page of Markdown: docs/changes.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from slurmpod.environment.base import Effect, effect_of
from slurmpod.environment.descriptions import entry_section, section_in
from slurmpod.environment.environment import Environment

if TYPE_CHECKING:
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

Where the stack of the cluster was deleted, the file is compared with what was deployed before.
CloudFormation remembers that for 90 days. What a cluster or its nodes cannot change is in place
then, as the next cluster begins with it.

This page is made by `make golden` from what `slurmpod/environment/` says on each field.
"""


def changes_page() -> str:
    """Return the page: the sections of an environment in their order, each with its fields."""
    return "\n".join((INTRODUCTION, *_sections(Environment, "")))


def _sections(section: type[BaseModel], path: str) -> Iterator[str]:
    yield f"## {path or 'The top of the file'}\n"
    yield "| field | a change is | and that means |\n|---|---|---|"
    yield from (_row(name, effect_of(field)) for name, field in section.model_fields.items())
    yield ""
    for name, field in section.model_fields.items():
        inner, entry = section_in(field), entry_section(field)
        below = f"{path}.{name}" if path else name
        if inner:
            yield from _sections(inner, below)
        elif entry:
            yield from _sections(entry, f"{below}[]")


def _row(name: str, effect: Effect) -> str:
    others = (
        ("less", effect.less),
        ("taken out", effect.removed),
        ("in customer mode", effect.in_customer_mode),
    )
    meaning = [
        effect.meaning,
        *(f"{when}: {each.kind}, {each.meaning}" for when, each in others if each),
    ]
    return f"| `{name}` | {effect.kind} | {'; '.join(meaning)} |"
