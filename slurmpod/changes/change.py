"""One change of an environment, and the path to its field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slurmpod.environment.base import Effect, Kind
from slurmpod.problems import YamlPath


@dataclass(frozen=True)
class Change:
    """One change: its path, the old and new value, and the effect.

    `path` is for people, with names instead of indexes; `new_path` leads to the value in the new
    file, or to the parent that it was removed from. None is an absent value.
    """

    path: str
    new_path: YamlPath
    old: Any
    new: Any
    effect: Effect

    @property
    def is_harmless(self) -> bool:
        """Return whether nothing is lost, replaced or refused."""
        return self.effect.kind in (Kind.IN_PLACE, Kind.NEW_NODES)


@dataclass(frozen=True)
class FieldPath:
    """The path to a field: in names for people, and in the new file."""

    names: tuple[str, ...] = ()
    path: YamlPath = ()

    def below(self, part: str | int, *, shown_as: str = "") -> FieldPath:
        """Return the path of a field, or of an entry of a list under its name."""
        return FieldPath((*self.names, shown_as or str(part)), (*self.path, part))

    def change(self, old: Any, new: Any, effect: Effect) -> Change:
        """Return the change at this path."""
        return Change(".".join(self.names), self.path, old, new, effect)
