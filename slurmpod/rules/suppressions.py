"""Warnings that the user has accepted in the file, with a reason: `suppress`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from slurmpod.environment.environment import Suppression
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Problem, Severity, Where
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.rules.areas import all_rules, rule_by_id

NOT_ACCEPTABLE = "RUL-002"
ACCEPTS_NOTHING = "RUL-003"
OF_PREFLIGHT = "PRE-"
"""Prefix of checks of the account: `slurmpod preflight` checks whether entries for them apply."""


def unsuppressed(
    problems: Iterable[Problem], suppressions: Sequence[Suppression], source: YamlSource
) -> Iterator[Problem]:
    """Remove accepted warnings, and report entries that accept nothing.

    Errors stay, because AWS refuses them for any reason.
    """
    accepted = {suppression.rule for suppression in suppressions}
    problems = list(problems)
    found = {problem.rule for problem in problems}
    for index, suppression in enumerate(suppressions):
        if suppression.rule.startswith(OF_PREFLIGHT):
            continue
        where = source.where(("suppress", index, "rule"))
        problems += _judge(suppression, where, found, source.file)
    for problem in problems:
        if problem.rule not in accepted or problem.severity is Severity.ERROR:
            yield problem


def _acceptable() -> Iterator[str]:
    return (rule.id for rule in all_rules() if rule.severity is Severity.WARNING)


def _judge(suppression: Suppression, where: Where, found: Set[str], file: str) -> Iterator[Problem]:
    rule = rule_by_id(suppression.rule)
    if rule is None:
        guess = did_you_mean(suppression.rule, _acceptable())
        fix = f"{guess} 'slurmpod explain' lists all rules".strip()
        message = f"there is no rule {suppression.rule}"
        yield Problem(NOT_ACCEPTABLE, Severity.ERROR, where, message, fix)
    elif rule.severity is Severity.ERROR:
        message = f"{rule.id} is an error, and only warnings can be accepted"
        fix = f"correct what it finds ({rule.title[0].lower()}{rule.title[1:]}), and remove this"
        yield Problem(NOT_ACCEPTABLE, Severity.ERROR, where, message, fix)
    elif rule.id not in found and where.file == file:  # a base accepts for all who extend it
        message = f"{rule.id} no longer finds anything here"
        yield Problem(ACCEPTS_NOTHING, Severity.WARNING, where, message, "remove the entry")
