"""Facts of an account and an environment -> every problem, in the order of the file. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from slurmpod.preflight.answers import unanswered
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT, Check
from slurmpod.problems import Problem, Severity, in_file_order
from slurmpod.resolve import Resolved
from slurmpod.rules.check import Sound, apply
from slurmpod.rules.registry import Finding, Rule

CHECKS = tuple(sorted(PREFLIGHT.rules, key=lambda rule: rule.id))
"""All checks: those of the subjects, and those of the answers, which load the subjects."""


def check(sound: Sound, facts: Facts) -> tuple[Problem, ...]:
    """Check an environment against the facts of its account, without accepted findings."""
    problems = [*unanswered(facts, sound.source)]
    for rule in CHECKS:
        problems += apply(_of_environment(rule, facts), sound.resolved, sound.source)
    accepted = {each.rule for each in sound.environment.suppress}
    kept = (each for each in problems if _counts(each, accepted))
    return in_file_order(kept)


def _counts(problem: Problem, accepted: Iterable[str]) -> bool:
    return problem.severity is Severity.ERROR or problem.rule not in accepted


def _of_environment(rule: Check, facts: Facts) -> Rule:
    """Return a check of these facts as a rule for environments."""

    def found(resolved: Resolved) -> Iterable[Finding]:
        return rule.check(resolved, facts) if rule.check else ()

    return Rule(rule.id, rule.title, rule.why, rule.fix, rule.source, rule.severity, found)
