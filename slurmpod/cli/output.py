"""Text for people and data for programs: facts go to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from pathlib import Path

RED, YELLOW, BOLD, DIM = "31", "33", "1", "2"


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


def paint(text: str, style: str, stream: TextIO) -> str:
    """Colour `text` where `stream` is a terminal that shows colours (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{style}m{text}\x1b[0m"
