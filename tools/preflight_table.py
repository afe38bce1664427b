"""The checks of `slurmpod preflight` as Markdown: a table of docs/preflight.md."""

from __future__ import annotations

from slurmpod.preflight.check import CHECKS
from slurmpod.preflight.registry import Check
from tools.marked_part import with_part

BEGIN = "<!-- checks: generated from slurmpod/preflight/subjects by `make golden` -->"
END = "<!-- end of checks -->"


def with_checks(page: str) -> str:
    """Return a page with the text between its two marks regenerated."""
    rows = "\n".join(map(_row, CHECKS))
    table = f"| check | passes if | fix |\n|---|---|---|\n{rows}"
    return with_part(page, BEGIN, END, f"\n\n{table}\n\n")


def _row(check: Check) -> str:
    return f"| {check.id} ({check.severity}) | {check.title} | {check.fix} |"
