"""What commands share that need a sound environment."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.cli.output import say
from slurmpod.cli.problem_text import problems_text
from slurmpod.model.loader import load
from slurmpod.problems import InvalidEnvironment, has_errors
from slurmpod.rules.check import judge

if TYPE_CHECKING:
    from pathlib import Path

    from slurmpod.model.environment import Environment
    from slurmpod.model.yaml_source import YamlSource
    from slurmpod.resolve import Resolved


@dataclass(frozen=True)
class Sound:
    """An environment without errors: where its values stand, and what follows from them."""

    source: YamlSource
    resolved: Resolved

    @property
    def environment(self) -> Environment:
        """What the user wrote, defaults filled in."""
        return self.resolved.environment


def sound_environment(path: Path) -> Sound:
    """Read, check and resolve one environment; warnings go to stderr.

    Raises:
        InvalidEnvironment: The file has errors; `main` shows them.
    """
    loaded = load(path)
    judged = judge(loaded)
    if judged.resolved is None or has_errors(judged.problems):
        raise InvalidEnvironment(judged.problems)
    if judged.problems:
        say(problems_text(judged.problems, sys.stderr) + "\n")
    return Sound(loaded.source, judged.resolved)
