"""The book of checks: each judges the facts of an account by what an environment needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slurmpod import rulebook
from slurmpod.preflight.facts import Facts
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

Checker = Callable[[Resolved, Facts], Iterable[Finding]]

Check = rulebook.Rule["Checker"]

PREFLIGHT = rulebook.Rulebook["Checker"]("PRE", "What only the account knows")
"""Where the files of subjects, as they are loaded, write their checks."""
