"""Checks of the answers themselves: those that AWS refused, and those missing from saved facts."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.aws.errors import DENIALS
from slurmpod.preflight.facts import Facts, Unanswered
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects import QUESTIONS
from slurmpod.preflight.subjects.account import CREDENTIALS
from slurmpod.problems import Problem, Severity
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

NO_ACCOUNT, UNANSWERED = "PRE-001", "PRE-002"
NOT_HERE = "UnsupportedOperation"
"""Error code of the embedded AWS for an unsupported operation."""

THROTTLED = ("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests")

PREFLIGHT.reported_elsewhere(
    "PRE-001",
    "The credentials are valid",
    why="All other queries need them.",
    fix="log in (aws sso login), or name a profile: export AWS_PROFILE=...",
    source=CREDENTIALS,
)

PREFLIGHT.reported_elsewhere(
    "PRE-002",
    "AWS answers every query",
    why="Checks whose facts are missing are skipped.",
    fix="allow the action to the caller of preflight (docs/permissions.md), and run it again",
    source="docs/permissions.md",
    severity=Severity.WARNING,
)


@PREFLIGHT.rule(
    "PRE-005",
    "The facts cover everything that the environment names",
    why="Saved facts are of an earlier version of the environment: resources named since then "
    "are not covered.",
    fix="gather the facts again: slurmpod preflight without --facts",
    source="docs/preflight.md",
    severity=Severity.WARNING,
)
def _facts_know_what_is_named(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.caller is None or facts.caller.account != resolved.account:
        return
    refused = {each.question for each in facts.unanswered}
    for question in (each for each in QUESTIONS if each.field not in refused):
        for name, path in question.names(resolved).items():
            if name not in (facts[question] or {}):
                yield Finding(path, f"the facts do not cover {name}")


@PREFLIGHT.rule(
    "PRE-006",
    "The caller may read the resources that the environment names",
    why="Policies and the names of entries are read for checks; without access they are not "
    "checked.",
    fix="allow the action to the caller of preflight (docs/permissions.md); suppress it if "
    "access is denied on purpose",
    source="docs/permissions.md",
    severity=Severity.WARNING,
)
def _what_is_named_is_open(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for question in QUESTIONS:
        for name, path in question.names(resolved).items():
            if refused := getattr((facts[question] or {}).get(name), "refused", ()):
                yield Finding(path, f"{', '.join(refused)} is denied: {name} is not checked")


def unanswered(facts: Facts, source: YamlSource) -> Iterator[Problem]:
    """Report each query without an answer; without credentials only that one."""
    facts_of = {check.id: check for check in PREFLIGHT.rules}
    for each in facts.unanswered:
        if facts.caller is None:
            rule, path = facts_of[NO_ACCOUNT], ("account",)
            yield Problem(rule.id, rule.severity, source.where(path), each.message, rule.fix)
        else:
            rule = facts_of[UNANSWERED]
            severity = Severity.NOTE if each.code == NOT_HERE else rule.severity
            where = source.where(("account",))
            yield Problem(rule.id, severity, where, each.message, _fix_of(each, rule.fix))


def _fix_of(refused: Unanswered, usual: str) -> str:
    if refused.code == NOT_HERE:
        return "nothing to do: a rehearsal's account does not support it"
    if refused.code in THROTTLED:
        return "run it again in a minute: AWS throttled the request"
    if refused.code in DENIALS:
        return usual
    return "run it again; the checks that need it were skipped"
