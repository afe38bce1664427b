"""Facts of an account and an environment -> every problem, in the order of the file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slurmpod.aws.errors import DENIALS
from slurmpod.preflight.checks import PREFLIGHT, Check
from slurmpod.preflight.facts import Facts, Unanswered
from slurmpod.problems import Problem, Severity, in_file_order
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.resolve import Resolved
from slurmpod.rules.check import Sound, apply
from slurmpod.rules.registry import Finding, Rule

NO_ACCOUNT, UNANSWERED = "PRE-001", "PRE-002"
NOT_HERE = "UnsupportedOperation"
"""The code with which an embedded AWS says that it does not have an operation."""

THROTTLED = ("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests")


def judge(sound: Sound, facts: Facts) -> tuple[Problem, ...]:
    """Hold an environment against the facts of its account, but for what it accepts."""
    problems = [*_unanswered(facts, sound.source)]
    for check in PREFLIGHT.rules:
        problems += apply(_of_environment(check, facts), sound.resolved, sound.source)
    accepted = {each.rule for each in sound.environment.suppress}
    kept = (each for each in problems if _counts(each, accepted))
    return in_file_order(kept)


def _counts(problem: Problem, accepted: Iterable[str]) -> bool:
    return problem.severity is Severity.ERROR or problem.rule not in accepted


def _of_environment(check: Check, facts: Facts) -> Rule:
    """Return a check of these facts as a rule for environments."""

    def found(resolved: Resolved) -> Iterable[Finding]:
        return check.judge(resolved, facts) if check.judge else ()

    return Rule(check.id, check.title, check.why, check.fix, check.source, check.severity, found)


def _unanswered(facts: Facts, source: YamlSource) -> Iterator[Problem]:
    """Tell of each question without an answer; without credentials there is only that one."""
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


def _fix_of(unanswered: Unanswered, usual: str) -> str:
    if unanswered.code == NOT_HERE:
        return "nothing: a rehearsal's account does not have it"
    if unanswered.code in THROTTLED:
        return "run it again in a minute: AWS asks for patience"
    if unanswered.code in DENIALS:
        return usual
    return "run it again; the checks that rest on it were left out"
