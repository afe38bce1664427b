"""Rules for the checks of idle nodes."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.shared_findings import values_listed_twice

CHECKS = Area("CHK", "Checks of idle nodes", reads=("checks", "cluster"))

PROGRAM = "lifecycle_scripts/slurmpod_checks/judge.py"


@CHECKS.rule(
    "CHK-001",
    "Groups that are checked are groups of workers",
    why="Checks are jobs of Slurm, which run on workers only.",
    fix="name a group of workers, or remove the key: all of them are checked then",
    source=PROGRAM,
)
def _groups_are_workers(resolved: Resolved) -> Iterator[Finding]:
    checks = resolved.environment.checks
    workers = {group.name for group in resolved.groups_with(Role.WORKER)}
    for index, name in enumerate(checks.groups if checks else ()):
        if name not in workers:
            yield Finding(("checks", "groups", index), f"there is no worker group '{name}'")


@CHECKS.rule(
    "CHK-002",
    "Groups and kinds of checks are listed once",
    why="Duplicates have no effect; another name may have been intended.",
    fix="remove one of the two",
    source=PROGRAM,
    reads=("checks",),
)
def _values_are_listed_once(resolved: Resolved) -> Iterator[Finding]:
    if checks := resolved.environment.checks:
        yield from values_listed_twice(checks.groups, "checks", "groups")
        yield from values_listed_twice(checks.kinds, "checks", "kinds")


@CHECKS.rule(
    "CHK-003",
    "Nodes have other nodes to compare with",
    why="The expected speed of a node comes from the other nodes of its group: a single node is "
    "compared with two others, and a pair with a third node.",
    fix="leave the group out, or give it three nodes or more",
    source=PROGRAM,
    severity=Severity.WARNING,
)
def _groups_have_peers(resolved: Resolved) -> Iterator[Finding]:
    checks = resolved.environment.checks
    names = {group.name: group.count for group in resolved.groups_with(Role.WORKER)}
    for index, name in enumerate(checks.groups if checks else ()):
        if names.get(name, LEAST_NODES) < LEAST_NODES:
            message = f"'{name}' has {names[name]} node(s): too few to compare their speed"
            yield Finding(("checks", "groups", index), message)


LEAST_NODES = 3
"""The same number as in judge.py of the nodes' programs: two others."""
