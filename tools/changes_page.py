"""The effects of changing each field as a page of Markdown: docs/changes.md.

What holds for many fields is said once, with these fields below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from slurmpod.environment.base import Kind, effect_of
from tools.sections import (
    IN_CUSTOMER_MODE,
    PlacedField,
    address,
    cases,
    place,
    sentences,
    told_sections,
)

INTRODUCTION = """\
# What a change does

`slurmpod diff environments/dev.yaml` compares a file with the last deployment and says what a
deployment would do with each difference. This page says the same of every field, as does each field
of [the reference](fields/index.md).

Only the resulting values count: writing out a default, or moving people into the file of users,
changes nothing. Files that an environment names are compared by content.

| kind | meaning |
|---|---|
| [in place](#in-place) | nothing is interrupted beyond what the text says |
| [new nodes only](#new-nodes-only) | running nodes keep what they have |
| [loses something](#loses-something) | nodes or data go; a protected environment asks first |
| [replaces](#replaces) | made anew beside the old one; a protected environment asks first |
| [refused](#refused) | AWS fails it, or is not known to take it, so `slurmpod diff` fails |

Some fields have a second answer that replaces the first: for a value that
[becomes less, or is taken out](#less-or-taken-out) (a smaller number, a switch that goes off, an
entry of a list, a whole section), or [in customer mode](#in-customer-mode).

If the cluster's stack was deleted, the file is compared with what was deployed before;
CloudFormation remembers that for 90 days. What a cluster or its nodes cannot change is then in
place, because the next cluster starts with it.

This page is made by `make golden` from what `slurmpod/environment/` says on each field.
"""

TWINS = """\
## Sections that have the same fields

A section that may stand at several places is listed at the first of them only. A change does the
same at the others:
"""

PROOFS = """\
## Who says so

For what is refused or replaced, and for some changes that AWS documents by halves, this is where it
is written, and what is written nowhere. `slurmpod diff` shows both. A refusal that is not proven
is one, too: a cluster that somebody works on is no place to try it.

| fields | kind | source | not proven |
|---|---|---|---|"""

NOTHING_TO_ADD = "There is nothing to add for these fields."
LESS = "less, or taken out"
Fields = dict[str, list[PlacedField]]
"""Fields by what a change of them means."""


def changes_page() -> str:
    """Return the page: the kinds of changes, each with its meanings, each with its fields."""
    usual: dict[str, Fields] = {kind: {} for kind in Kind}
    special: dict[str, Fields] = {}
    for field in (field for told in told_sections() for field in told.fields):
        effect = effect_of(field.declared)
        usual[effect.kind].setdefault(sentences(effect) or NOTHING_TO_ADD, []).append(field)
        for when, other in cases(field):
            title = when if when == IN_CUSTOMER_MODE else LESS
            text = f"**{other.kind}**. {sentences(other)}"
            special.setdefault(title, {}).setdefault(text, []).append(field)
    chapters = [*_chapters(usual), *_chapters(special)]
    return "\n".join((INTRODUCTION, *chapters, PROOFS, *_proofs(), "", TWINS, *_twins(), ""))


def _chapters(groups: Mapping[str, Fields]) -> Iterator[str]:
    for title, fields in groups.items():
        yield f"## {title[0].upper()}{title[1:]}\n"
        for meaning, those in fields.items():
            yield f"{meaning}\n"
            yield from _by_section(those)
            yield ""


def _by_section(fields: Iterable[PlacedField]) -> Iterator[str]:
    sections: dict[str, list[PlacedField]] = {}
    for field in fields:
        sections.setdefault(place(field.path[:-1]), []).append(field)
    for section, those in sections.items():
        names = ", ".join(f"[`{each.path[-1]}`](fields/{address(each.path)})" for each in those)
        yield f"- {f'`{section}`' if section else 'the top of the file'}: {names}"


def _proofs() -> Iterator[str]:
    """Yield a row for each source and doubt, with the fields that have it."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for field in (field for told in told_sections() for field in told.fields):
        others = (other for _, other in cases(field))
        for effect in (effect_of(field.declared), *others):
            if effect.source or effect.doubt:
                row = rows.setdefault((effect.kind, effect.source, effect.doubt), [])
                row.append(f"[`{place(field.path)}`](fields/{address(field.path)})")
    for (kind, source, doubt), fields in sorted(rows.items(), key=lambda row: row[1]):
        yield f"| {', '.join(fields)} | {kind} | {source} | {doubt} |"


def _twins() -> Iterator[str]:
    for told in told_sections():
        if told.like:
            yield f"- `{place(told.section.path)}` has the fields of `{place(told.like.path)}`"
