"""The rules as a page of Markdown: docs/rules.md is made of them."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.rules.areas import AREAS
from slurmpod.rules.registry import Rule

INTRODUCTION = """\
# Rules

Every environment file is held against these rules before anything is deployed:
`slurmpod validate environments/dev.yaml`. An error stops every command; a warning is shown and
passed. `slurmpod explain NET-003` prints one rule in the terminal.

This page is made from the rules themselves: `slurmpod explain --markdown > docs/rules.md`.
"""


def rules_page() -> str:
    """Return the page of all rules, area by area."""
    return "\n".join((INTRODUCTION, *_sections()))


def _sections() -> Iterator[str]:
    for area in AREAS:
        yield f"## {area.title}\n"
        for rule in area.rules:
            yield _section(rule)


def _section(rule: Rule) -> str:
    return (
        f"### {rule.id}: {rule.title}\n\n"
        f"{rule.why}\n\n"
        f"- Severity: {rule.severity}\n"
        f"- Fix: {rule.fix}\n"
        f"- Source: {_linked(rule.source)}\n"
    )


def _linked(source: str) -> str:
    return f"<{source}>" if source.startswith("https://") else f"`{source}`"
