"""Apply the rules: what was read -> every problem in it, in the order of the file. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slurmpod.environment.environment import Environment
from slurmpod.problems import (
    InvalidEnvironment,
    Problem,
    Severity,
    Where,
    has_errors,
    in_file_order,
)
from slurmpod.reading.read import Reading, Remains
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.resolve import Resolved, resolve
from slurmpod.rules.acceptance import without_accepted
from slurmpod.rules.areas import all_rules
from slurmpod.rules.registry import Finding, Rule


@dataclass(frozen=True)
class Sound:
    """An environment without errors: where its values stand, what follows, and its warnings."""

    source: YamlSource
    resolved: Resolved
    warnings: tuple[Problem, ...]

    @property
    def environment(self) -> Environment:
        """What the user wrote, defaults filled in."""
        return self.resolved.environment


def sound(reading: Reading) -> Sound:
    """Judge an environment and resolve it.

    Raises:
        InvalidEnvironment: It has errors.
    """
    problems, resolved = _judged(reading)
    if resolved is None or has_errors(problems):
        raise InvalidEnvironment(problems)
    return Sound(reading.source, resolved, problems)


def check(reading: Reading) -> tuple[Problem, ...]:
    """Return all problems of an environment: of form, of the files that it names, and of rules."""
    return _judged(reading)[0]


def judge(resolved: Resolved, source: YamlSource) -> list[Problem]:
    """Return what the rules find, each at its place in the file."""
    return [problem for rule in all_rules() for problem in apply(rule, resolved, source)]


def check_together(readings: Iterable[Reading]) -> tuple[Problem, ...]:
    """Return the problems that files have with each other: two that describe the same cluster."""
    problems: list[Problem] = []
    first: dict[tuple[str, str, str], str] = {}
    for reading in readings:
        environment, source = reading.environment, reading.source
        if environment is None:
            continue
        identity = (environment.name, environment.account, environment.region)
        other = first.setdefault(identity, source.file)
        if other != source.file:
            message = (
                f"{source.file} describes '{environment.name}' in this account and Region, "
                f"and so does {other}"
            )
            fix = "give one of the two environments another name"
            where = source.where(("name",))
            problems.append(Problem("ENV-005", Severity.ERROR, where, message, fix))
    return tuple(problems)


def apply(rule: Rule, resolved: Resolved, source: YamlSource) -> list[Problem]:
    """Return what one rule finds; a rule that crashes is a problem, too."""
    try:
        findings = rule.judge(resolved) if rule.judge else ()
        return [_problem(rule, found, source) for found in findings]
    except Exception as error:  # noqa: BLE001  # one rule must not take the others with it
        return [_crashed(rule.id, error, source)]


def _judged(reading: Reading) -> tuple[tuple[Problem, ...], Resolved | None]:
    """Return all problems and, where it can be told, what follows from the environment."""
    if reading.environment is None:
        found = _found_in(reading.remains) if reading.remains else ()
        return in_file_order([*reading.problems, *found]), None
    try:
        resolved = resolve(reading)
    except Exception as error:  # noqa: BLE001  # a mistake of ours is reported like any other
        return (_crashed("resolve", error, reading.source),), None
    problems = [*reading.problems, *judge(resolved, reading.source)]
    accepted = without_accepted(problems, reading.environment.suppress, reading.source)
    return in_file_order(accepted), resolved


def _found_in(remains: Remains) -> Iterable[Problem]:
    from slurmpod.rules.remains import problems_in  # only needed on mistakes of form

    return problems_in(remains, apply)


def _problem(rule: Rule, finding: Finding, source: YamlSource) -> Problem:
    where = finding.where or source.where(finding.path, key=finding.at_key)
    return Problem(rule.id, rule.severity, where, finding.message, finding.fix or rule.fix)


def _crashed(what: str, error: Exception, source: YamlSource) -> Problem:
    import traceback  # only needed when something crashed

    from slurmpod.reading.private_keys import HIDDEN, holds_private_key

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rpartition('/')[2]}, line {last.lineno}"
    said = HIDDEN if holds_private_key(str(error)) else error
    message = f"{what} failed in {place}: {type(error).__name__}: {said}"
    fix = "this is a mistake in slurmpod: report it with this file"
    return Problem("RUL-001", Severity.ERROR, Where(source.file), message, fix)
