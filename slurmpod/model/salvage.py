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

from slurmpod.model.environment import Environment

if TYPE_CHECKING:
    from slurmpod.problems import YamlPath


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
    incomplete: set[YamlPath] = set()
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        path = tuple(part for part in detail["loc"] if part != "[key]")
        try:
            del reduce(getitem, path[:-1], rest)[path[-1]]
        except (KeyError, IndexError, TypeError):  # it is missing, or the document is no mapping
            return None
        incomplete.add(path[:-1])
    try:
        environment = Environment.model_validate_json(to_json(rest))
    except ValidationError:
        return None
    return Salvaged(environment, frozenset(incomplete))
