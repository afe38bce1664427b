"""The registry of checks: facts of an account against needs of an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slurmpod import rulebook
from slurmpod.preflight.facts import Facts
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

Checker = Callable[[Resolved, Facts], Iterable[Finding]]

Check = rulebook.Rule["Checker"]

PREFLIGHT = rulebook.Rulebook["Checker"]("PRE", "Checks of the account")
"""The registry to which the files of subjects add their checks."""
