"""Text for people and data for programs: results go to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def say(text: str) -> None:
    """Print something that is not the result: a hint, a warning, an error."""
    sys.stderr.write(f"{text}\n")


def say_next(command: str, path: Path) -> None:
    """Suggest the next command for an environment."""
    import shlex  # only needed here

    sys.stdout.flush()  # print nothing more if the reader has left
    say(f"next: slurmpod {command} {shlex.quote(str(path))}")


@contextmanager
def if_interrupted(hint: str) -> Iterator[None]:
    """On Ctrl-C within the block, say what has been done and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        say(hint)
        raise


def print_json(data: Any) -> None:
    """Print `data` as JSON, for programs."""
    import json  # only needed with --json

    sys.stdout.write(json.dumps(data, indent=2) + "\n")
