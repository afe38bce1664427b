"""The effects of changing each field as a page of Markdown: docs/changes.md.

An effect that several fields share is written once, followed by a list of these fields.
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

`slurmpod diff environments/dev.yaml` compares a file with the last deployment and shows the
effect of deploying each difference. This page lists the effect for every field, as does
[the reference](fields/index.md).

Only the resulting values count: writing out a default, or moving people into the file of users,
changes nothing. Files that an environment refers to are compared by content.

| kind | meaning |
|---|---|
| [in place](#in-place) | nothing is interrupted unless the text says so |
| [new nodes only](#new-nodes-only) | running nodes keep what they have |
| [loses something](#loses-something) | deletes nodes or data; a protected environment asks first |
| [replaces](#replaces) | creates a new resource; a protected environment asks first |
| [refused](#refused) | AWS rejects it, or is not known to accept it, so `slurmpod diff` fails |

Some fields have a second effect that replaces the first: for a value that
[decreases or is removed](#less-or-taken-out) (a smaller number, a switch turned off, an entry of a
list, a whole section), or [in customer mode](#in-customer-mode).

If the cluster's stack was deleted, the file is compared with the last deployment before the
deletion, which CloudFormation remembers for 90 days. Changes that a running cluster or its nodes
cannot make are then in place, because the next cluster starts with them.

`make golden` generates this page from the effects declared in `slurmpod/environment/`.
"""

TWINS = """\
## Sections that have the same fields

A section that can appear in several places is listed under the first of them only. Changes have the
same effect in the others:
"""

PROOFS = """\
## Who says so

Sources for changes that are refused or replace something, and for some changes that AWS documents
only in part, with the points that no source covers. `slurmpod diff` shows both. A refusal without
proof is still a refusal: a cluster in use is no place to try it.

| fields | kind | source | not proven |
|---|---|---|---|"""

NOTHING_TO_ADD = "No further effects."
LESS = "less, or taken out"
Fields = dict[str, list[PlacedField]]
"""Fields by the effect of a change."""


def changes_page() -> str:
    """Return the page: for each kind of change its effects, and the fields of each effect."""
    usual: dict[str, Fields] = {kind: {} for kind in Kind}
    special: dict[str, Fields] = {}
    for field in (field for section in told_sections() for field in section.fields):
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
    for field in (field for section in told_sections() for field in section.fields):
        others = (other for _, other in cases(field))
        for effect in (effect_of(field.declared), *others):
            if effect.source or effect.doubt:
                row = rows.setdefault((effect.kind, effect.source, effect.doubt), [])
                row.append(f"[`{place(field.path)}`](fields/{address(field.path)})")
    for (kind, source, doubt), fields in sorted(rows.items(), key=lambda row: row[1]):
        yield f"| {', '.join(fields)} | {kind} | {source} | {doubt} |"


def _twins() -> Iterator[str]:
    for each in told_sections():
        if each.like:
            yield f"- `{place(each.section.path)}` has the fields of `{place(each.like.path)}`"
