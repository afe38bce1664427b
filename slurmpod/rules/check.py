"""Apply the rules: a loaded file -> every problem in it, in the order of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Problem, Severity, Where, in_file_order
from slurmpod.resolve import resolve
from slurmpod.rules.areas import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slurmpod.model.environment import Environment
    from slurmpod.model.loader import Loaded
    from slurmpod.model.yaml_source import YamlSource
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved
    from slurmpod.rules.registry import Finding, Rule


def check(loaded: Loaded) -> tuple[Problem, ...]:
    """Return all problems: those of form, and those that the rules find in what is well-formed."""
    if loaded.environment:
        return in_file_order(_judge(loaded.environment, loaded.source, lambda _: True))
    if loaded.salvaged:
        may_speak_of = loaded.salvaged.may_speak_of
        found = _judge(loaded.salvaged.environment, loaded.source, may_speak_of)
        return in_file_order([*loaded.problems, *found])
    return loaded.problems


def check_together(files: Iterable[Loaded]) -> tuple[Problem, ...]:
    """Return the problems that files have with each other: two that describe the same cluster."""
    problems: list[Problem] = []
    first: dict[tuple[str, str, str], str] = {}
    for loaded in files:
        environment = loaded.environment
        if environment is None:
            continue
        identity = (environment.name, environment.account, environment.region)
        other = first.setdefault(identity, loaded.source.file)
        if other != loaded.source.file:
            where = loaded.source.where(("name",))
            message = f"'{environment.name}' in this account and Region is described by {other} too"
            fix = "give one of the two environments another name"
            problems.append(Problem("ENV-005", Severity.ERROR, where, message, fix))
    return tuple(problems)


def _judge(
    environment: Environment, source: YamlSource, may_speak_of: Callable[[YamlPath], bool]
) -> list[Problem]:
    """Apply every rule; findings at other places than a rule may speak of are dropped."""
    try:
        resolved = resolve(environment)
    except Exception as error:  # noqa: BLE001  # a mistake of ours is reported like any other
        return [_crashed("resolve", error, source)]
    problems: list[Problem] = []
    for rule in all_rules():
        problems += _apply(rule, environment, resolved, source, may_speak_of)
    return problems


def _apply(
    rule: Rule,
    environment: Environment,
    resolved: Resolved,
    source: YamlSource,
    may_speak_of: Callable[[YamlPath], bool],
) -> list[Problem]:
    if rule.judge is None:
        return []
    try:
        findings = [
            finding
            for finding in rule.judge(environment, resolved)
            if may_speak_of(tuple(finding.path))
        ]
        return [_problem(rule, finding, source) for finding in findings]
    except Exception as error:  # noqa: BLE001  # one rule must not take the others with it
        return [_crashed(rule.id, error, source)]


def _problem(rule: Rule, finding: Finding, source: YamlSource) -> Problem:
    where = source.where(finding.path, key=finding.at_key)
    return Problem(rule.id, rule.severity, where, finding.message, finding.fix or rule.fix)


def _crashed(what: str, error: Exception, source: YamlSource) -> Problem:
    import traceback  # only needed when something crashed

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rpartition('/')[2]}, line {last.lineno}"
    message = f"{what} failed in {place}: {type(error).__name__}: {error}"
    fix = "this is a mistake in slurmpod: report it with this file"
    return Problem("RUL-001", Severity.ERROR, Where(source.file), message, fix)
