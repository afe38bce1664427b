"""A resolved environment that notes which sections of its file are behind what a rule reads.

From which sections a member follows is tried, not written: sections of many environments are mixed,
then one is exchanged; what changes follows from that one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import cycle, islice
from random import Random
from typing import Any

from slurmpod.environment.base import Section
from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve

SECTIONS = tuple(Environment.model_fields)
MIXES = 100
"""How often each section is exchanged at least."""

Member = tuple[str, str]
"""A place in what is resolved, and the name of something there: ("network", "private")."""


class Watch:
    """Makes environments that add to `seen` from which sections something follows when read."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        """Find what follows from what by mixing `readings`, of which the first is a plain one."""
        self.seen: set[str] = set()
        self._origins = _origins(readings)
        self._classes: dict[tuple[str, type], Any] = {}

    def resolve(self, reading: Reading) -> Resolved:
        """Return what follows from an environment, watched."""
        watched: Resolved = self._watched("", resolve(reading))
        return watched

    def _watched(self, place: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._watched(place, each) for each in value)
        if not _has_members(place, value):
            return value
        members = {name: self._watched(_below(place, name), each) for name, each in _members(value)}
        kind = type(value)
        if (place, kind) not in self._classes:
            self._classes[place, kind] = self._watched_class(place, kind)
        watched = self._classes[place, kind]
        return watched.model_construct(**members) if _is_section(kind) else watched(**members)

    def _watched_class(self, place: str, kind: type) -> type:
        seen, origins = self.seen, self._origins

        class Watched(kind):  # type: ignore[misc]  # the base is that of what is watched
            def __getattribute__(self, name: str) -> Any:
                seen.update(origins.get((place, name), ()))
                return super().__getattribute__(name)

        return Watched


def _origins(readings: Sequence[Reading]) -> Mapping[Member, set[str]]:
    """Return from which sections every member follows."""
    origins = defaultdict(set)
    random = Random(0)  # noqa: S311  # the same at every run
    plain = readings[0]
    donors = {section: _that_differ_in(section, readings) for section in SECTIONS}

    def any_of(section: str) -> Reading:
        return random.choice((plain, random.choice(donors[section])))

    for section, others in donors.items():
        for donor in islice(cycle(others), max(MIXES, 2 * len(others))):
            mix = {name: any_of(name) for name in SECTIONS}
            one, other = (resolve(_mixed({**mix, section: each})) for each in (plain, donor))
            for member in _different_members("", one, other):
                origins[member].add(section)
    return origins | {("environment", name): {name} for name in SECTIONS}


def _that_differ_in(section: str, readings: Sequence[Reading]) -> Sequence[Reading]:
    return tuple({_written(each, section): each for each in readings}.values())


def _written(reading: Reading, section: str) -> str:
    assert reading.environment
    return reading.environment.model_dump_json(include={section}, exclude_unset=True)


def _mixed(donors: Mapping[str, Reading]) -> Reading:
    """Return an environment with each section, and the files that it names, from its donor."""
    sections = {name: getattr(donor.environment, name) for name, donor in donors.items()}
    return Reading(
        Environment.model_construct(**sections).in_its_edition(),
        users=donors["access"].users,
        own_scripts=donors["lifecycle"].own_scripts,
        hooks=donors["lifecycle"].hooks,
        policies=donors["identity"].policies,
    )


def _different_members(place: str, one: Any, other: Any) -> Iterator[Member]:
    for name, value in _members(one):
        yield from _differences((place, name), value, getattr(other, name))


def _differences(member: Member, one: Any, other: Any) -> Iterator[Member]:
    """Yield the innermost members that differ, of those that are watched."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        if len(one) != len(other):
            yield member
        for pair in zip(one, other, strict=False):
            yield from _differences(member, *pair)
    elif _has_members(_below(*member), one) and type(one) is type(other):
        yield from _different_members(_below(*member), one, other)
    elif one != other:
        yield member


def _has_members(place: str, value: Any) -> bool:
    """Return whether members of a value are watched: those of parts and sections are."""
    is_near = "." not in place.removeprefix("environment.")
    return is_near and (_is_section(type(value)) or is_dataclass(value))


def _below(place: str, name: str) -> str:
    return f"{place}.{name}".removeprefix(".")


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(value, name)) for name in _names(type(value)))


def _names(kind: Any) -> Iterable[str]:
    if _is_section(kind):
        return tuple(kind.model_fields)
    return [each.name for each in fields(kind)]


def _is_section(kind: type) -> bool:
    return issubclass(kind, Section)
