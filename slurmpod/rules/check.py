"""Applying the rules: a reading -> all problems, in the order of the file. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from slurmpod.environment.environment import Environment
from slurmpod.problems import (
    InvalidEnvironment,
    Problem,
    Severity,
    Where,
    first_of,
    has_errors,
    in_file_order,
)
from slurmpod.reading.read import PartialReading, Reading
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.resolve import Resolved, resolve
from slurmpod.rules.areas import all_rules
from slurmpod.rules.registry import Finding, Rule
from slurmpod.rules.suppressions import ACCEPTS_NOTHING, unsuppressed
from slurmpod.value import Value

ALL_RULES = tuple(all_rules())

SHOWN_FILES = 3
"""Environments that are named in a problem of their base."""


class Sound(Value):
    """An environment without errors: positions of values, resolved values, and warnings."""

    source: YamlSource
    resolved: Resolved
    warnings: tuple[Problem, ...]

    @property
    def environment(self) -> Environment:
        """The environment as written, with defaults."""
        return self.resolved.environment


class AllSound(Value):
    """Environments without errors that one app can hold, and the warnings of all."""

    environments: tuple[Resolved, ...]
    warnings: tuple[Problem, ...]


def sound(reading: Reading) -> Sound:
    """Check an environment and resolve it.

    Raises: InvalidEnvironment: It has errors.
    """
    problems, resolved = _judged(reading)
    if resolved is None or has_errors(problems):
        raise InvalidEnvironment(problems)
    return Sound(reading.source, resolved, problems)


def all_sound(readings: Sequence[Reading]) -> AllSound:
    """Check the environments of one app and resolve them.

    Raises: InvalidEnvironment: There are errors; it holds the problems of all environments.
    """
    judged = [(reading, *_judged(reading)) for reading in readings]
    found = each_once((reading.source.file, problems) for reading, problems, _ in judged)
    problems = (*found, *_same_names(readings))
    environments = tuple(resolved for _, _, resolved in judged if resolved)
    if has_errors(problems):
        raise InvalidEnvironment(problems)
    return AllSound(environments, problems)


def each_once(found: Iterable[tuple[str, Iterable[Problem]]]) -> Iterator[Problem]:
    """Return the problems of files; one of a base once, with the environments that have it."""
    files: dict[Problem, dict[str, None]] = {}
    for file, problems in found:
        for problem in problems:
            files.setdefault(problem, {})[file] = None
    for problem, having in files.items():
        others = [file for file in having if file != problem.where.file]
        about = f" (in {first_of(others, SHOWN_FILES)})" if others else ""
        yield replace(problem, message=problem.message + about)


def check(reading: Reading, rules: Sequence[Rule] = ALL_RULES) -> tuple[Problem, ...]:
    """Return all problems of an environment: of form, of the files that it names, of `rules`."""
    return _judged(reading, rules)[0]


def check_together(readings: Iterable[Reading]) -> tuple[Problem, ...]:
    """Return the problems that files have with each other: two that describe the same cluster."""
    fix = "give one of the two environments another name"
    return tuple(
        _problem_of_name(
            "ENV-005",
            source,
            f"{source.file} describes '{environment.name}' in this account and Region, "
            f"and so does {other}",
            fix,
        )
        for source, environment, other in _twice(
            readings, lambda each: (each.name, each.account, each.region)
        )
    )


def _same_names(readings: Iterable[Reading]) -> Iterator[Problem]:
    """Find environments that cannot be in one app: their stacks would have the same names."""
    fix = "synthesize them one after the other, or give one of the two another name"
    for source, environment, other in _twice(readings, lambda each: each.name):
        message = f"{source.file} describes '{environment.name}', and so does {other}"
        yield _problem_of_name("ENV-008", source, message, fix)


def _twice(
    readings: Iterable[Reading], identity: Callable[[Environment], Hashable]
) -> Iterator[tuple[YamlSource, Environment, str]]:
    """Yield every environment that has the identity of an earlier one, and that one's file."""
    first: dict[Hashable, str] = {}
    for reading in readings:
        environment, source = reading.environment, reading.source
        if environment is None:
            continue
        other = first.setdefault(identity(environment), source.file)
        if other != source.file:
            yield source, environment, other


def _problem_of_name(rule: str, source: YamlSource, message: str, fix: str) -> Problem:
    return Problem(rule, Severity.ERROR, source.where(("name",)), message, fix)


def apply(rule: Rule, resolved: Resolved, source: YamlSource) -> list[Problem]:
    """Return the findings of a rule; a crash is a problem, too."""
    try:
        findings = rule.check(resolved) if rule.check else ()
        return [_problem(rule, found, source) for found in findings]
    except Exception as error:  # noqa: BLE001 # one rule must not stop the others
        return [_crashed(rule.id, error, source)]


def _judged(
    reading: Reading, rules: Sequence[Rule] = ALL_RULES
) -> tuple[tuple[Problem, ...], Resolved | None]:
    """Return all problems and, if possible, the resolved environment."""
    if reading.environment is None:
        found = _found_in(reading.remains, rules) if reading.remains else ()
        return in_file_order([*reading.problems, *found]), None
    try:
        resolved = resolve(reading)
    except Exception as error:  # noqa: BLE001 # a bug in slurmpod is reported like other problems
        return (_crashed("resolve", error, reading.source),), None
    found = (problem for rule in rules for problem in apply(rule, resolved, reading.source))
    problems = (*reading.problems, *found)
    accepted = unsuppressed(problems, reading.environment.suppress, reading.source)
    return in_file_order(accepted), resolved


def _found_in(remains: PartialReading, rules: Sequence[Rule]) -> Iterator[Problem]:
    """Yield the problems of the sections without mistakes of form.

    Rules that read a section with mistakes are skipped, because its intended values are not known.
    """
    reading, broken = remains.reading, remains.broken
    if reading.environment is None:
        return
    resolved = resolve(reading)
    heard = [rule for rule in rules if broken.isdisjoint(rule.reads)]
    found = (problem for rule in heard for problem in apply(rule, resolved, reading.source))
    problems = (*reading.problems, *found)
    for problem in unsuppressed(problems, reading.environment.suppress, reading.source):
        is_known = "suppress" not in broken or problem.severity is Severity.ERROR
        if is_known and problem.rule != ACCEPTS_NOTHING:
            yield problem


def _problem(rule: Rule, finding: Finding, source: YamlSource) -> Problem:
    where = finding.where or source.where(finding.path, key=finding.at_key)
    return Problem(rule.id, rule.severity, where, finding.message, finding.fix or rule.fix)


def _crashed(what: str, error: Exception, source: YamlSource) -> Problem:
    import traceback  # only needed when something crashed

    from slurmpod.reading.secrets_in_text import HIDDEN, holds_private_key

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rpartition('/')[2]}, line {last.lineno}"
    said = HIDDEN if holds_private_key(str(error)) else error
    message = f"{what} failed in {place}: {type(error).__name__}: {said}"
    fix = "this is a bug in slurmpod: report it with this file"
    return Problem("RUL-001", Severity.ERROR, Where(source.file), message, fix)
