"""Text for people and data for programs: facts go to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def say(text: str) -> None:
    """Tell the user something that is not the result: a hint, a warning, an error."""
    sys.stderr.write(f"{text}\n")


def say_next(command: str, path: Path) -> None:
    """Name the command that comes next in an environment's way."""
    import shlex  # only needed here

    sys.stdout.flush()  # to whoever has left before the end nothing more is said
    say(f"next: slurmpod {command} {shlex.quote(str(path))}")


@contextmanager
def if_interrupted(hint: str) -> Iterator[None]:
    """Say what has been done, and how to go on, where Ctrl-C ends the work within."""
    try:
        yield
    except KeyboardInterrupt:
        say(hint)
        raise


def counted(count: int, noun: str) -> str:
    """Return `1 node`, `2 nodes`: how many there are, in words."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def print_json(data: Any) -> None:
    """Print `data` as JSON, for programs."""
    import json  # only needed with --json

    sys.stdout.write(json.dumps(data, indent=2) + "\n")
