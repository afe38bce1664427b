"""What is sound of an environment with mistakes of form, so that rules can look at it already.

What stood there if there were no mistake, nobody knows. So the file is mended in several ways:
what is wrong is left out, or this or that stands in for it. A rule's finding is none of a stand-in
if it is there in whatever way the file is mended, and at a place that holds what the user wrote.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import to_json

from slurmpod.model.descriptions import KEY, section_at
from slurmpod.model.environment import Environment
from slurmpod.model.stand_ins import LEFT_OUT, ROLES, WAYS, stand_in, with_every_key
from slurmpod.model.suggestion import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

    from slurmpod.model.yaml_source import YamlSource
    from slurmpod.problems import Problem, YamlPath

ROUNDS = 8
"""What is put into a place can lack something itself; sections lie less deep inside each other."""

QUOTED = re.compile("'([^']+)'")
"""A text of the user's in a message."""


@dataclass(frozen=True)
class Salvaged:
    """A file with mistakes at some places, and what it could have been without them."""

    source: YamlSource
    mistakes: frozenset[YamlPath]

    def environments(self, hint: str = "") -> Iterator[Environment]:
        """Mend the file in one way after the other, as `stand_in` knows them.

        With a `hint`, only as far as that makes a difference.
        """
        for way in range(1, 1 + ROLES) if hint else range(1 + WAYS):
            mended = _mended(self.source, way, hint)
            if mended and not (hint and mended == _mended(self.source, way, "")):
                yield mended

    def hints(self, problem: Problem) -> Iterator[str]:
        """Return the texts that a problem is about: one of them may be what is lost elsewhere."""
        yield from QUOTED.findall(problem.message)
        position = (problem.where.file, problem.where.line, problem.where.column)
        for path, value in _texts(self.source.data):
            if self.source.values[path] == position:
                yield value

    def may_speak_of(self, path: YamlPath) -> bool:
        """Tell whether a finding at `path` is about what the user wrote.

        What holds a mistake may lack something, and is not judged.
        """
        around = {path[:length] for length in range(len(path) + 1)}
        lacking = {mistake[:-1] for mistake in self.mistakes}
        return not around & self.mistakes and path not in lacking


def salvage(source: YamlSource, error: ValidationError | None) -> Salvaged | None:
    """Return what stands without the mistakes in `error` and without what is doubtful as YAML.

    None where it cannot be mended.
    """
    mistakes = frozenset(path for path, _ in _mistakes(error)) if error else frozenset()
    salvaged = Salvaged(source, mistakes | source.doubtful)
    return salvaged if () not in salvaged.mistakes and any(salvaged.environments()) else None


def is_mere_consequence(detail: ErrorDetails) -> bool:
    """Tell whether a list is too short only because pydantic counts no entries with mistakes."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


def _mended(source: YamlSource, way: int, hint: str) -> Environment | None:
    rest = copy.deepcopy(source.data)
    for path in sorted(source.doubtful, key=len, reverse=True):  # what holds others comes later
        _replace(rest, path, way, hint)
    tried = set(source.doubtful)
    for _ in range(ROUNDS):
        try:
            return Environment.model_validate_json(to_json(rest))
        except ValidationError as error:
            mistakes = list(_mistakes(error))
        unknown = [path for path, kind in mistakes if kind == "extra_forbidden"]
        for path in unknown:
            _respell(rest, path, way, hint)
        for path, _ in () if unknown else mistakes:
            _replace(rest, path, 0 if path in tried else way, hint)
            tried.add(path)
    return None


def _respell(rest: Any, path: YamlPath, way: int, hint: str) -> None:
    """Leave an unknown key out, or take it for the one that it looks like, or for any other."""
    section, around = section_at(path[:-1]), reduce(getitem, path[:-1], rest)
    value = around.pop(path[-1])
    near = nearest(str(path[-1]), section.model_fields) if section else None
    if not near or way > ROLES:
        around.update(with_every_key(path[:-1], around, way, hint))
    elif way and near not in around:
        around[near] = value


def _replace(rest: Any, path: YamlPath, way: int, hint: str) -> None:
    """Put what stands in for a mistake into its place."""
    around, value = reduce(getitem, path[:-1], rest), stand_in(path, way, hint)
    if value is not LEFT_OUT:
        around[path[-1]] = value
    elif isinstance(around, dict):
        around.pop(path[-1], None)


def _texts(value: Any, path: YamlPath = ()) -> Iterator[tuple[YamlPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*path, key))


def _mistakes(error: ValidationError) -> Iterable[tuple[YamlPath, str]]:
    for detail in error.errors(include_url=False):
        if not is_mere_consequence(detail):
            yield tuple(part for part in detail["loc"] if part != KEY), detail["type"]
