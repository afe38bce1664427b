"""What commands share that need a sound environment."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from slurmpod.cli.output import say
from slurmpod.cli.problem_text import problems_text
from slurmpod.model.loader import load
from slurmpod.problems import InvalidEnvironment, has_errors
from slurmpod.resolve import Resolved, resolve
from slurmpod.rules.check import check

if TYPE_CHECKING:
    from pathlib import Path

    from slurmpod.model.environment import Environment


def sound_environment(path: Path) -> tuple[Environment, Resolved]:
    """Read, check and resolve one environment; warnings go to stderr.

    Raises:
        InvalidEnvironment: The file has errors; `main` shows them.
    """
    loaded = load(path)
    problems = check(loaded)
    if loaded.environment is None or has_errors(problems):
        raise InvalidEnvironment(problems)
    if problems:
        say(problems_text(problems, sys.stderr) + "\n")
    return loaded.environment, resolve(loaded.environment)
