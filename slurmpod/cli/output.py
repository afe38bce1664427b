"""Text for people, data for programs, and the question before something is changed for good.

Facts go to stdout, everything else to stderr.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from slurmpod.environment.environment import Environment


def say(text: str) -> None:
    """Tell the user something that is not the result: a hint, a warning, an error."""
    sys.stderr.write(f"{text}\n")


def say_next(command: str, path: Path) -> None:
    """Name the command that comes next in an environment's way."""
    import shlex  # only needed here

    say(f"next: slurmpod {command} {shlex.quote(str(path))}")


def counted(count: int, noun: str) -> str:
    """Return `1 node`, `2 nodes`: how many there are, in words."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def print_json(data: Any) -> None:
    """Print `data` as JSON, for programs."""
    import json  # only needed with --json

    sys.stdout.write(json.dumps(data, indent=2) + "\n")


def is_confirmed(environment: Environment, options: argparse.Namespace, what: str) -> bool:
    """Ask whether to do `what`; a protected environment has to be typed by name, whoever asks."""
    if environment.protected:
        say(f"{environment.name} is protected; type its name to {what}:")
        return sys.stdin.readline().strip() == environment.name
    if options.yes:
        return True
    if not sys.stdin.isatty():
        say("this is only the plan; run it again with --yes to carry it out")
        return False
    say(f"{what}? [y/N]")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
