"""Rules of any kind, and the registry of the rules on one subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, Generic, TypeVar

from slurmpod.problems import Severity
from slurmpod.value import Value

Checker = TypeVar("Checker", bound=Callable[..., Any])


class Rule(Value, Generic[Checker]):
    """The facts of one rule, as its documentation shows them.

    `check` yields the violations; None if another part reports them under this id. `reads` names
    the sections of an environment from which its findings follow, if it checks environments.
    """

    id: str
    title: str
    why: str
    fix: str
    source: str
    severity: Severity
    check: Checker | None
    reads: tuple[str, ...] = ()


class Rulebook(Value, Generic[Checker]):
    """The rules on one subject, in the order of their definition; ids begin with `prefix`.

    `reads` is the default for its rules.
    """

    prefix: str
    title: str
    reads: tuple[str, ...] = ()
    rules: list[Rule[Checker]] = field(default_factory=list)

    def rule(
        self,
        rule_id: str,
        title: str,
        *,
        why: str,
        fix: str,
        source: str,
        severity: Severity = Severity.ERROR,
        reads: tuple[str, ...] | None = None,
    ) -> Callable[[Checker], Checker]:
        """Register the decorated function as a rule.

        `title` states the condition that the rule requires.
        """
        sections = self.reads if reads is None else reads

        def register(check: Checker) -> Checker:
            self._add(Rule(rule_id, title, why, fix, source, severity, check, sections))
            return check

        return register

    def reported_elsewhere(
        self,
        rule_id: str,
        title: str,
        *,
        why: str,
        fix: str,
        source: str,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Register the facts of a rule that another part reports under this id."""
        self._add(Rule(rule_id, title, why, fix, source, severity, None))

    def _add(self, rule: Rule[Checker]) -> None:
        number = rule.id.removeprefix(f"{self.prefix}-")
        if not (len(number) == 3 and number.isdigit()):
            raise ValueError(f"{rule.id} is not of the form {self.prefix}-000")
        if any(known.id == rule.id for known in self.rules):
            raise ValueError(f"two rules have the id {rule.id}")
        self.rules.append(rule)
