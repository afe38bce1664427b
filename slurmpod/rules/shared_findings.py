"""Findings that rules of several areas share: of lists with repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from slurmpod.problems import YamlPath
from slurmpod.rules.registry import Finding


class Named(Protocol):
    """A named list entry."""

    @property
    def name(self) -> str:
        """The name."""


def listed_twice(entries: Iterable[Named], *path: str) -> Iterator[Finding]:
    """Yield a finding for every entry of the list at `path` with the name of an earlier one."""
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.name in seen:
            at: YamlPath = (*path, index, "name")
            yield Finding(at, f"'{entry.name}' is listed twice")
        seen.add(entry.name)


def values_listed_twice(values: Iterable[str | int], *path: str) -> Iterator[Finding]:
    """Yield a finding for every repeated value of the list at `path`."""
    seen: set[str | int] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield Finding((*path, index), f"'{value}' is listed twice")
        seen.add(value)
