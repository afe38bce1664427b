"""The shape of a rule, and how an area collects its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slurmpod.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

    Judge = Callable[[Environment, Resolved], Iterable["Finding"]]


@dataclass(frozen=True)
class Finding:
    """One place that breaks a rule.

    `fix` replaces the rule's own where the finding knows better. `at_key` points at the key of
    `path`, not at its value.
    """

    path: YamlPath
    message: str
    fix: str = ""
    at_key: bool = False


@dataclass(frozen=True)
class Rule:
    """The facts of one rule, as `slurmpod explain` prints them.

    `judge` is None for what other parts report under this id (the loader, the rule runner).
    """

    id: str
    title: str
    why: str
    fix: str
    source: str
    severity: Severity
    judge: Judge | None


@dataclass(frozen=True)
class Area:
    """The rules of one area, in the order of their definition; ids begin with `prefix`."""

    prefix: str
    title: str
    rules: list[Rule] = field(default_factory=list)

    def rule(
        self,
        rule_id: str,
        title: str,
        *,
        why: str,
        fix: str,
        source: str,
        severity: Severity = Severity.ERROR,
    ) -> Callable[[Judge], Judge]:
        """Register the decorated function as a rule. `title` says what a sound environment has."""

        def register(judge: Judge) -> Judge:
            self._add(Rule(rule_id, title, why, fix, source, severity, judge))
            return judge

        return register

    def reported_elsewhere(
        self, rule_id: str, title: str, *, why: str, fix: str, source: str
    ) -> None:
        """Register the facts of what another part reports under this id."""
        self._add(Rule(rule_id, title, why, fix, source, Severity.ERROR, None))

    def _add(self, rule: Rule) -> None:
        number = rule.id.removeprefix(f"{self.prefix}-")
        if not (len(number) == 3 and number.isdigit()):
            raise ValueError(f"{rule.id} is not of the form {self.prefix}-000")
        if any(known.id == rule.id for known in self.rules):
            raise ValueError(f"two rules have the id {rule.id}")
        self.rules.append(rule)
