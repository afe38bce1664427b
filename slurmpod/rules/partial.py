"""Findings in a file with mistakes of form: those that rest on sound sections alone.

A rule is heard if it has looked at no section with a mistake. Nothing is guessed: what such a
section would have said without its mistake, nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import Any

from slurmpod.environment.environment import Environment
from slurmpod.problems import Problem, Severity
from slurmpod.reading.read import PartialReading
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.resolve import Resolved, resolve
from slurmpod.rules.registry import Rule
from slurmpod.rules.suppressions import ACCEPTS_NOTHING, unsuppressed

SECTIONS: dict[str, frozenset[str]] = {
    name: frozenset(sections.split())
    for name, sections in {
        "aws_partition": "region",
        "continuous": "cluster lifecycle edition",
        "database": "slurm",
        "groups": "cluster",
        "lustre": "storage",
        "node_recovery": "cluster",
        "openzfs": "storage",
        "policies": "identity",
        "s3_mounts": "storage",
        "stacks": "name network cluster storage slurm monitoring budget lifecycle identity access "
        "services",
        "endpoint": "name services",
        "notebook": "name network services",
        "tags": "tags name",
    }.items()
}
"""Sections of the environment from which parts of `Resolved` follow that have other names."""

FURTHER_SECTIONS: dict[str, dict[str, frozenset[str]]] = {
    part: {name: frozenset(sections.split()) for name, sections in members.items()}
    for part, members in {
        "access": {"home_directory": "storage", "session_groups": "cluster"},
        "database": {"new": "name", "requires_tls": "lifecycle edition"},
        "groups": {"zone": "network"},
        "lifecycle": {
            "bucket": "name account region",
            "entry_script": "edition",
            "mode": "edition",
        },
        "lustre": {"zone": "network", "dns_name": "region"},
        "network": {
            "interface_endpoints": "monitoring services",
            "private": "cluster storage slurm monitoring services",
        },
        "openzfs": {"zone": "network", "dns_name": "region"},
    }.items()
}
"""Sections from which single members of these parts follow beside those of the part."""


def problems_in(
    remains: PartialReading,
    rules: Sequence[Rule],
    apply: Callable[[Rule, Resolved, YamlSource], list[Problem]],
) -> Iterator[Problem]:
    """Yield what is wrong with sound sections of a file that has others; `apply` asks one rule."""
    reading, broken = remains.reading, remains.broken
    if reading.environment is None:
        return
    watched = _watched(resolve(reading))
    problems = list(reading.problems)
    for rule in rules:
        watched.seen.clear()
        found = apply(rule, watched, reading.source)
        if watched.seen.isdisjoint(broken):
            problems += found
    for problem in unsuppressed(problems, reading.environment.suppress, reading.source):
        is_known = "suppress" not in broken or problem.severity is Severity.ERROR
        if is_known and problem.rule != ACCEPTS_NOTHING:
            yield problem


class _WatchedEnvironment(Environment):
    """An environment that notes which of its sections are looked at."""

    def __getattribute__(self, name: str) -> Any:
        if name in Environment.model_fields:
            object.__getattribute__(self, "__dict__")[_SEEN].add(name)
        return super().__getattribute__(name)


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
    seen: set[str] = set()
    parts = {part.name: getattr(resolved, part.name) for part in fields(Resolved)}
    for name, further in FURTHER_SECTIONS.items():
        parts[name] = _watched_part(parts[name], further, seen)
    environment = _WatchedEnvironment.model_construct(**dict(resolved.environment))
    environment.__dict__[_SEEN] = seen
    return _Watched(**{**parts, "environment": environment}, seen=seen)


def _watched_part(part: Any, further: Mapping[str, frozenset[str]], seen: set[str]) -> Any:
    """Return a part, or all of a tuple of them, that notes from which sections its members come."""
    if part is None or part == ():
        return part
    kind = type(part[0] if isinstance(part, tuple) else part)

    class WatchedPart(kind):  # type: ignore[valid-type,misc]  # the base is that of the part
        def __getattribute__(self, name: str) -> Any:
            seen.update(further.get(name, ()))
            return super().__getattribute__(name)

    def watched(one: Any) -> Any:
        return WatchedPart(**{member.name: getattr(one, member.name) for member in fields(one)})

    return tuple(map(watched, part)) if isinstance(part, tuple) else watched(part)
