"""Collectors of metrics, and their access to the node: commands and files.

Tests pass another node.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from slurmpod_exporter.exposition import Sample

COMMAND_TIMEOUT_SECONDS = 20
KILL_AFTER_SECONDS = 5
"""How long a command may take to end after SIGTERM."""

SLURM_COMMANDS = "/opt/slurm/bin"


class CollectorFailed(Exception):
    """A collector could not get its data; the message goes to the service's journal."""


class Host:
    """The node that this program runs on; `is_controller` if Slurm's controller runs here too."""

    def __init__(self, *, is_controller: bool) -> None:
        self.is_controller = is_controller

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return time.time()

    def has(self, program: str) -> bool:
        """Return whether a program exists, given its name or path."""
        return shutil.which(program) is not None

    def run(self, *command: str) -> str:
        """Return the output of a command; raises CollectorFailed if it does not succeed."""
        try:
            ended = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=COMMAND_TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CollectorFailed(f"{command[0]}: {error}") from None
        if ended.returncode:
            said = (ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]
            raise CollectorFailed(f"{command[0]} ended with {ended.returncode}: {''.join(said)}")
        return ended.stdout

    def first_line(self, *command: str) -> str:
        """Return the first line of a long-running command and stop it; raises CollectorFailed."""
        killed = f"--kill-after={KILL_AFTER_SECONDS}"
        limited = ("timeout", killed, str(COMMAND_TIMEOUT_SECONDS), *command)
        with subprocess.Popen(
            limited,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
        ) as process:
            line = process.stdout.readline() if process.stdout else ""
            process.terminate()
        if not line:
            raise CollectorFailed(f"{command[0]} printed nothing")
        return line

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that match an absolute pattern, sorted."""
        return sorted(map(str, Path("/").glob(pattern.lstrip("/"))))

    def read(self, path: str) -> str:
        """Return the text of a file; raises CollectorFailed."""
        try:
            return Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise CollectorFailed(f"{path}: {error.strerror}") from None


class Collector(NamedTuple):
    """`is_present`: whether a node has what `collect` reads; `collect` raises CollectorFailed."""

    name: str
    is_present: Callable[[Host], bool]
    collect: Callable[[Host], Iterator[Sample]]
