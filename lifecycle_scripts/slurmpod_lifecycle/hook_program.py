"""A user's program: its output is streamed to the log, its run time is limited.

At the time limit it is killed with everything that it started, including processes that left its
session: the process that hangs is often not the program itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LAST_WORDS_SECONDS = 1.0
"""How long output is read after the program's end: a leftover process may keep the pipe open."""


@dataclass(frozen=True)
class HookProgram:
    """A command, its whole environment, its working directory and its time limit."""

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    timeout_seconds: float


def run_program(program: HookProgram, say: Callable[[str], None]) -> int | None:
    """Run a program and `say` each line of its output; return its exit status, None if killed.

    Raises OSError if it cannot be started.
    """
    process = subprocess.Popen(
        program.command,
        env=program.environment,
        cwd=program.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    assert process.stdout  # noqa: S101  # opened as a pipe
    reader = threading.Thread(target=_pass_on, args=(process.stdout, say), daemon=True)
    reader.start()
    try:
        return process.wait(program.timeout_seconds)
    except subprocess.TimeoutExpired:
        _kill_all(process)
        return None
    finally:
        reader.join(LAST_WORDS_SECONDS)


def _pass_on(output: IO[str], say: Callable[[str], None]) -> None:
    for line in output:
        if line.strip():
            say(line.rstrip())


def _kill_all(process: subprocess.Popen[str]) -> None:
    """Stop a process and its descendants until no new ones appear, then kill all of them."""
    stopped: set[int] = set()
    while new := descendants(process.pid, _processes()) - stopped:
        for pid in new:
            _send(pid, signal.SIGSTOP)
        stopped |= new
    for pid in stopped:
        _send(pid, signal.SIGKILL)
    process.wait()


def descendants(root: int, processes: Iterable[tuple[int, int, int]]) -> set[int]:
    """Return `root`, the processes of its session, and the children of all of these.

    `processes` are (process, parent, session).
    """
    known = list(processes)
    found = {root}
    while True:
        more = {pid for pid, parent, session in known if parent in found or session == root}
        if more <= found:
            return found
        found |= more


def _processes() -> Iterator[tuple[int, int, int]]:
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = file.read_text(errors="replace")
        except OSError:  # it has ended
            continue
        _, parent, _, session = text.rpartition(")")[2].split()[:4]
        yield int(file.parent.name), int(parent), int(session)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
