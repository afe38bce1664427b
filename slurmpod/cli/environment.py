"""Loading a valid environment, as many commands need it."""

from __future__ import annotations

import sys
from pathlib import Path

from slurmpod.cli.output import say
from slurmpod.problem_text import problems_text
from slurmpod.reading.read import read
from slurmpod.rules.check import Sound, sound


def sound_environment(path: Path) -> Sound:
    """Read, check and resolve one environment; print warnings to stderr.

    Raises:
        InvalidEnvironment: The file has errors; `main` shows them.
    """
    found = sound(read(path))
    if found.warnings:
        say(problems_text(found.warnings, sys.stderr) + "\n")
    return found
