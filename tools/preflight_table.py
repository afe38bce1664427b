"""The checks of `slurmpod preflight` as Markdown: a part of docs/preflight.md is made of them."""

from __future__ import annotations

from slurmpod.preflight.check import CHECKS
from slurmpod.preflight.registry import Check

BEGIN = "<!-- checks: made of slurmpod/preflight/subjects by `make golden` -->"
END = "<!-- end of checks -->"


def with_checks(page: str) -> str:
    """Return a page with the text between its two marks made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "\n".join(map(_row, CHECKS))
    table = f"| check | how it is when all is well | what to do otherwise |\n|---|---|---|\n{rows}"
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def _row(check: Check) -> str:
    return f"| {check.id} ({check.severity}) | {check.title} | {check.fix} |"
