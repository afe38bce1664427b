"""What rules for environments judge, and what they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod import rulebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slurmpod.model.environment import Environment
    from slurmpod.problems import Where, YamlPath
    from slurmpod.resolve import Resolved

    Judge = Callable[[Environment, Resolved], Iterable["Finding"]]

Rule = rulebook.Rule["Judge"]


@dataclass(frozen=True)
class Finding:
    """One place that breaks a rule.

    `fix` replaces the rule's own where the finding knows better. `at_key` points at the key of
    `path`, not at its value. `where` is the exact place when that is in another file, which the
    environment names at `path`.
    """

    path: YamlPath
    message: str
    fix: str = ""
    at_key: bool = False
    where: Where | None = None


class Area(rulebook.Rulebook["Judge"]):
    """The rules of one area of an environment."""
