"""Findings that rules of several areas share: of lists with repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from slurmpod.problems import YamlPath
from slurmpod.rules.registry import Finding


class Named(Protocol):
    """An entry with a name."""

    @property
    def name(self) -> str:
        """What tells it apart."""


def listed_twice(entries: Iterable[Named], *path: str) -> Iterator[Finding]:
    """Yield a finding for every entry of the list at `path` whose name stands above already."""
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.name in seen:
            at: YamlPath = (*path, index, "name")
            yield Finding(at, f"'{entry.name}' is listed twice")
        seen.add(entry.name)


def values_listed_twice(values: Iterable[str | int], *path: str) -> Iterator[Finding]:
    """Yield a finding for every value of the list at `path` that stands above already."""
    seen: set[str | int] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield Finding((*path, index), f"'{value}' is listed twice")
        seen.add(value)
