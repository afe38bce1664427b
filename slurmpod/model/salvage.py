"""What is sound of an environment with mistakes of form, so that rules can look at it already.

A mistake is left out as if it had not been written. That may itself look like a mistake to a rule
(a misspelt `partition` is a missing one), so the mappings that lost something are told.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import to_json

from slurmpod.model.descriptions import KEY, field_at
from slurmpod.model.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmpod.problems import YamlPath

NEUTRAL_KEYS_AT_THE_TOP = ("name", "account")
NEUTRAL_KEYS_OF_GROUPS = ("instance_type",)
"""Needed keys whose example, put in their place, cannot make anything elsewhere look wrong.

Not so a Region, which zones are compared with, or a group's name, which may stand only once.
"""


@dataclass(frozen=True)
class Salvaged:
    """The environment that is left, and the paths of the mappings that something is missing in."""

    environment: Environment
    incomplete: frozenset[YamlPath]

    def may_speak_of(self, path: YamlPath) -> bool:
        """Tell whether a rule's finding at `path` cannot come from what was left out."""
        return path not in self.incomplete and path[:-1] not in self.incomplete


def salvage(data: Any, error: ValidationError) -> Salvaged | None:
    """Return what stands without the mistakes in `error`; None where something needed is wrong."""
    rest = copy.deepcopy(data)
    mistakes = list(_mistakes(error))
    try:
        for path, kind in mistakes:
            if kind != "missing":
                del reduce(getitem, path[:-1], rest)[path[-1]]
        _fill_in(rest)
        environment = Environment.model_validate_json(to_json(rest))
    except (KeyError, IndexError, TypeError, ValidationError):  # too much of it is wrong
        return None
    return Salvaged(environment, frozenset(path[:-1] for path, _ in mistakes))


def _fill_in(rest: Any) -> None:
    """Put examples where something needed is missing; raises KeyError where none would do."""
    try:
        Environment.model_validate_json(to_json(rest))
    except ValidationError as error:
        for path, _ in _mistakes(error):
            field = field_at(path)
            if not field or not field.examples or not _is_neutral(path):
                raise KeyError(path) from error
            reduce(getitem, path[:-1], rest)[path[-1]] = field.examples[0]


def _is_neutral(path: YamlPath) -> bool:
    is_at_the_top = len(path) == 1
    return path[-1] in (NEUTRAL_KEYS_AT_THE_TOP if is_at_the_top else NEUTRAL_KEYS_OF_GROUPS)


def _mistakes(error: ValidationError) -> Iterable[tuple[YamlPath, str]]:
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        yield tuple(part for part in detail["loc"] if part != KEY), detail["type"]
