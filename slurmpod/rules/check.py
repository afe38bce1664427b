"""Apply the rules: a loaded file -> every problem in it, in the order of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.model.beside import read_files_beside
from slurmpod.problems import Problem, Severity, Where, in_file_order
from slurmpod.resolve import resolve
from slurmpod.rules.acceptance import ACCEPTS_NOTHING, without_accepted
from slurmpod.rules.areas import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.model.loader import Loaded
    from slurmpod.model.salvage import Salvaged
    from slurmpod.model.yaml_source import YamlSource
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved
    from slurmpod.rules.registry import Finding, Rule


@dataclass(frozen=True)
class Judged:
    """All problems of a file, and what was resolved to find them; None with mistakes of form."""

    problems: tuple[Problem, ...]
    resolved: Resolved | None


def judge(loaded: Loaded) -> Judged:
    """Find all problems: those of form, and those that the rules find in what is well-formed."""
    if loaded.environment:
        found, resolved = _judge(loaded.environment, loaded.source, lambda _: True)
        return Judged(in_file_order(found), resolved)
    if loaded.salvaged:
        found = _certain(loaded.salvaged)
        return Judged(in_file_order([*loaded.problems, *found]), None)
    return Judged(loaded.problems, None)


def check(loaded: Loaded) -> tuple[Problem, ...]:
    """Return all problems of a file."""
    return judge(loaded).problems


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
            message = (
                f"{loaded.source.file} describes '{environment.name}' in this account and Region, "
                f"and so does {other}"
            )
            fix = "give one of the two environments another name"
            problems.append(Problem("ENV-005", Severity.ERROR, where, message, fix))
    return tuple(problems)


def _certain(salvaged: Salvaged) -> list[Problem]:
    """Find what is wrong with a file in whatever way its mistakes of form are mended."""
    ways = salvaged.environments()
    found, _ = _judge(next(ways), salvaged.source, salvaged.may_speak_of)
    certain = [problem for problem in found if problem.rule != ACCEPTS_NOTHING]
    certain = _again(certain, salvaged, ways)
    for hint in sorted({hint for problem in certain for hint in salvaged.hints(problem)}):
        certain = _again(certain, salvaged, salvaged.environments(hint))
    return certain


def _again(
    problems: list[Problem], salvaged: Salvaged, environments: Iterator[Environment]
) -> list[Problem]:
    """Return those of `problems` that each of the environments has."""
    while problems and (environment := next(environments, None)):
        found, _ = _judge(environment, salvaged.source, salvaged.may_speak_of)
        problems = [problem for problem in problems if problem in found]
    return problems


def _judge(
    environment: Environment, source: YamlSource, may_speak_of: Callable[[YamlPath], bool]
) -> tuple[list[Problem], Resolved | None]:
    """Apply every rule; findings at other places than a rule may speak of are dropped."""
    beside, unreadable = read_files_beside(environment, source)
    try:
        resolved = resolve(environment, beside)
    except Exception as error:  # noqa: BLE001  # a mistake of ours is reported like any other
        return [_crashed("resolve", error, source)], None
    problems = list(unreadable)
    for rule in all_rules():
        problems += _apply(rule, environment, resolved, source, may_speak_of)
    accepted = {
        index: suppression
        for index, suppression in enumerate(environment.suppress)
        if may_speak_of(("suppress", index))
    }
    return list(without_accepted(problems, accepted, source)), resolved


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
    where = finding.where or source.where(finding.path, key=finding.at_key)
    return Problem(rule.id, rule.severity, where, finding.message, finding.fix or rule.fix)


def _crashed(what: str, error: Exception, source: YamlSource) -> Problem:
    import traceback  # only needed when something crashed

    from slurmpod.model.private_keys import HIDDEN, holds_private_key

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rpartition('/')[2]}, line {last.lineno}"
    said = HIDDEN if holds_private_key(str(error)) else error
    message = f"{what} failed in {place}: {type(error).__name__}: {said}"
    fix = "this is a mistake in slurmpod: report it with this file"
    return Problem("RUL-001", Severity.ERROR, Where(source.file), message, fix)
