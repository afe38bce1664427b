"""What rules find in a file with mistakes of form: that which rests on sound sections alone.

A rule is heard if it has looked at no section with a mistake. Nothing is guessed: what such a
section would have said without its mistake, nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from slurmpod.environment.environment import Environment
from slurmpod.problems import Problem, Severity
from slurmpod.reading.read import Remains
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.resolve import Resolved, resolve
from slurmpod.rules.acceptance import ACCEPTS_NOTHING, without_accepted
from slurmpod.rules.areas import all_rules
from slurmpod.rules.registry import Rule

SECTIONS: dict[str, frozenset[str]] = {
    name: frozenset(sections.split())
    for name, sections in {
        "access": "access cluster storage",
        "aws_partition": "region",
        "continuous": "cluster",
        "database": "slurm name lifecycle",
        "groups": "cluster network",
        "lifecycle": "lifecycle name account region",
        "lustre": "storage region network",
        "network": "network cluster storage slurm monitoring",
        "node_recovery": "cluster",
        "openzfs": "storage region network",
        "policies": "identity",
        "s3_mounts": "storage",
        "stacks": "name network cluster storage slurm monitoring budget lifecycle identity access",
        "tags": "tags name",
    }.items()
}
"""Sections of the environment from which parts of `Resolved` follow that have other names."""


def problems_in(
    remains: Remains, apply: Callable[[Rule, Resolved, YamlSource], list[Problem]]
) -> Iterator[Problem]:
    """Yield what is wrong with sound sections of a file that has others; `apply` asks one rule."""
    reading, broken = remains.reading, remains.broken
    if reading.environment is None:
        return
    resolved = resolve(reading)
    problems = list(reading.problems)
    for rule in all_rules():
        watched = _watched(resolved)
        found = apply(rule, watched, reading.source)
        if watched.seen.isdisjoint(broken):
            problems += found
    for problem in without_accepted(problems, reading.environment.suppress, reading.source):
        is_known = "suppress" not in broken or problem.severity is Severity.ERROR
        if is_known and problem.rule != ACCEPTS_NOTHING:
            yield problem


class _WatchedEnvironment(Environment):
    """An environment that notes which of its sections are looked at."""

    def __getattribute__(self, name: str) -> Any:
        if name in Environment.model_fields:
            object.__getattribute__(self, "__dict__")[_SEEN].add(name)
        return super().__getattribute__(name)


@dataclass(frozen=True)
class _Watched(Resolved):
    """A resolved environment that notes from which sections comes what is looked at."""

    seen: set[str] = field(default_factory=set)

    def __getattribute__(self, name: str) -> Any:
        if name in _PARTS:
            object.__getattribute__(self, "seen").update(SECTIONS.get(name, {name}))
        return super().__getattribute__(name)


_SEEN = "_seen"
_PARTS = {part.name for part in fields(Resolved)} - {"environment"}


def _watched(resolved: Resolved) -> _Watched:
    parts = {part.name: getattr(resolved, part.name) for part in fields(Resolved)}
    seen: set[str] = set()
    environment = _WatchedEnvironment.model_construct(**dict(resolved.environment))
    environment.__dict__[_SEEN] = seen
    return _Watched(**{**parts, "environment": environment}, seen=seen)
