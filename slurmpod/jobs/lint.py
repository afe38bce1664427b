"""Apply the rules: the text of a batch script -> every problem in it, top to bottom.

A script alone is checked without the models of environments: they take half of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from slurmpod.jobs.environment_rules import MEETING, VARIABLES
from slurmpod.jobs.form_rules import FORM
from slurmpod.jobs.launch_rules import LAUNCH
from slurmpod.jobs.option_rules import OPTIONS
from slurmpod.jobs.registry import Rule, ScriptFinding
from slurmpod.jobs.resume_rules import RESUME, recognises_training
from slurmpod.jobs.script import Beside, Script, nothing, read_script
from slurmpod.jobs.submitted import is_job, submitted
from slurmpod.problems import Problem, Severity, Where, in_file_order

if TYPE_CHECKING:
    from slurmpod.jobs.registry import ClusterTopic, Topic
    from slurmpod.resolve import Resolved

OF_SCRIPTS = (FORM, OPTIONS, RESUME, MEETING, LAUNCH, VARIABLES)


REFUSED = frozenset(
    f"JOB-{number:03}"
    for number in (7, 8, 9, 10, 40, 41, 42, 43, 44, 50, 51, 52, 53, 54, 55, 56, 57, 58, 66)
)
"""Rules whose violation in a directive makes sbatch refuse the script."""

WHOLE = frozenset({"JOB-002", "JOB-003"})
"""Rules whose violation anywhere makes sbatch refuse the script."""


def topics() -> tuple[Topic | ClusterTopic, ...]:
    """Return all topics, those of scripts on a cluster last."""
    return (*OF_SCRIPTS, *_of_clusters())


def all_rules() -> Iterator[Rule]:
    """Return every rule for batch scripts, topic by topic."""
    for topic in topics():
        yield from topic.rules


def lint(
    file: str,
    text: str,
    resolved: Resolved | None = None,
    beside: Beside = nothing,
    slurm: str = "",
) -> tuple[Problem, ...]:
    """Return all problems of a batch script; with `resolved`, also those on that cluster.

    So are scripts that it gives to sbatch in a here document. `beside` returns the text of a script
    in the same folder, by its name. `slurm` is the version that reads the script: without one, what
    some versions take is no problem.
    """
    script = read_script(file, text, beside, slurm)
    others = tuple(submitted(script))
    judged = (script, *others) if is_job(script) or not others else others
    return in_file_order(found for each in judged for found in _problems(each, resolved))


def verdict(text: str, resolved: Resolved, slurm: str = "") -> tuple[Problem, ...]:
    """Return why sbatch refuses a script on a cluster; nothing if it accepts it."""
    script = read_script("", text, slurm=slurm)
    places = (*(each.place for each in script.options), *(each.place for each in script.strays))
    directives = {place.line for place in places}
    return tuple(
        each
        for each in in_file_order(_problems(script, resolved))
        if each.rule in WHOLE or (each.rule in REFUSED and each.where.line in directives)
    )


def shows_training(file: str, text: str, beside: Beside = nothing) -> bool:
    """Return whether a training is recognised in a script: without one, no rule on it applies."""
    script = read_script(file, text, beside)
    return any(map(recognises_training, (script, *submitted(script))))


def unreadable(file: str, message: str, fix: str = "") -> Problem:
    """Return the problem of a script that cannot be read."""
    return _reported("JOB-001", Where(file), message, fix)


def not_read_by_bash(file: str, line: int, message: str) -> Problem:
    """Return the problem of a script of which bash says so."""
    return _reported("JOB-025", Where(file, line, 1), message)


def _reported(rule_id: str, where: Where, message: str, fix: str = "") -> Problem:
    rule = next(rule for rule in all_rules() if rule.id == rule_id)
    return Problem(rule.id, Severity.ERROR, where, message, fix or rule.fix)


def _of_clusters() -> tuple[ClusterTopic, ...]:
    # Only needed with an environment.
    from slurmpod.jobs.capacity_rules import CAPACITY
    from slurmpod.jobs.cluster_rules import CLUSTER
    from slurmpod.jobs.limit_rules import LIMITS

    return CLUSTER, CAPACITY, LIMITS


def _problems(script: Script, resolved: Resolved | None) -> Iterator[Problem]:
    found = [each for topic in OF_SCRIPTS for each in _found(topic.rules, script)]
    if resolved:
        found += [
            each for topic in _of_clusters() for each in _found(topic.rules, script, resolved)
        ]
    return (_problem(script.file, rule, finding) for rule, finding in found)


def _found(rules: Iterable[Rule], *judged: object) -> Iterator[tuple[Rule, ScriptFinding]]:
    for rule in rules:
        if rule.check:
            yield from ((rule, finding) for finding in rule.check(*judged))


def _problem(file: str, rule: Rule, finding: ScriptFinding) -> Problem:
    where = Where(file, finding.place.line, finding.place.column)
    return Problem(rule.id, rule.severity, where, finding.message, finding.fix or rule.fix)
