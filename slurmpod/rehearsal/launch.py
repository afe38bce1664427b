"""Starting and finding rehearsals, from any command; `take_down` ends them.

The lock on a rehearsal's folder is taken by who starts it and inherited by its host process, so
that at no moment a live rehearsal looks dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from embedded_aws.isolation import variables
from slurmpod.rehearsal.home import home, rehearsals
from slurmpod.rehearsal.state import (
    KEEP,
    Request,
    State,
    UnreadableState,
    read_request,
    read_state,
    write_pid,
    write_request,
)
from slurmpod.rehearsal.take_down import (
    END_TIMEOUT_SECONDS,
    LOCK_FILE,
    START_TIMEOUT_SECONDS,
    RehearsalFailed,
    folders,
    is_locked,
    remove_if_dead,
)

LOG_FILE = "host.log"
LINES_SHOWN = 15


@dataclass(frozen=True)
class Rehearsal:
    """A running rehearsal: its folder, what it was asked for, and what it offers."""

    folder: Path
    request: Request
    state: State

    @property
    def identifier(self) -> str:
        """The rehearsal's name for people: its folder's."""
        return self.folder.name

    @property
    def variables(self) -> dict[str, str]:
        """The variables that lead AWS tools to this rehearsal."""
        return variables(
            endpoint=self.state.endpoint,
            account=self.request.account,
            region=self.request.region,
        )


@dataclass(frozen=True)
class UnknownRehearsal:
    """A running rehearsal whose files cannot be read: all that can be done is to end it."""

    folder: Path
    problem: str

    @property
    def identifier(self) -> str:
        """The rehearsal's name for people: its folder's."""
        return self.folder.name


class Host:
    """A host process that this process has started, and that ends with it unless kept."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.is_kept = False
        self._process = process

    @classmethod
    def start(cls, request: Request) -> Self:
        """Start a host process in a new folder; returns at once, `wait_until_ready` waits."""
        folder = rehearsals() / f"{request.name}-{secrets.token_hex(3)}"
        try:
            return cls(folder, _start_process(folder, request))
        except BaseException:  # Ctrl-C, too; a process that has started sees its stdin end and goes
            _discard(folder)
            raise

    def wait_until_ready(self) -> Rehearsal:
        """Return the running rehearsal; raises RehearsalFailed when it does not come up."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            state = read_state(self.folder)
            if state:
                return Rehearsal(self.folder, read_request(self.folder), state)
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise RehearsalFailed(self._last_words())

    def require_running(self) -> None:
        """Raise RehearsalFailed when the host process has ended by itself."""
        if self._process.poll() is not None:
            raise RehearsalFailed(self._last_words())

    def keep(self) -> None:
        """Let the rehearsal outlive this process."""
        assert self._process.stdin  # noqa: S101  # opened as a pipe
        self._process.stdin.write(KEEP)
        self._process.stdin.close()
        self.is_kept = True

    def end(self) -> None:
        """End the host process, all that it owns, and remove the folder; may be repeated."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(END_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        remove_if_dead(self.folder)

    def _last_words(self) -> str:
        printed = (self.folder / LOG_FILE).read_text(errors="replace").splitlines()
        if printed:
            return "\n".join(printed[-LINES_SHOWN:])
        status = self._process.poll()
        if status is None:
            return f"the embedded AWS did not start within {START_TIMEOUT_SECONDS} s"
        return f"the rehearsal's own process ended with status {status}"


def _start_process(folder: Path, request: Request) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True)
    with (folder / LOCK_FILE).open("w") as lock, (folder / LOG_FILE).open("wb") as log:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_request(folder, request)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "slurmpod.rehearsal.host", str(folder)],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[lock.fileno()],
            start_new_session=True,
        )
        try:
            write_pid(folder, process.pid)
        except BaseException:  # Ctrl-C, too
            _kill(process)
            raise
        return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a host process that owns nothing yet; without it, its folder can be removed."""
    with process:
        process.kill()


def _discard(folder: Path) -> None:
    """Remove the folder of a rehearsal that did not get as far as a process."""
    if not remove_if_dead(folder) and not (folder / LOCK_FILE).exists():
        shutil.rmtree(folder, ignore_errors=True)


def running() -> tuple[Rehearsal | UnknownRehearsal, ...]:
    """Return every rehearsal that runs now, in the order of their names."""
    return tuple(_running())


def keep_logs(folder: Path) -> Path:
    """Copy a failed rehearsal's logs to where the next failure's replace them."""
    logs = home() / "last-failure"
    shutil.rmtree(logs, ignore_errors=True)
    for log in sorted(folder.rglob("*.log")):
        copy = logs / log.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, copy)
    return logs


def _running() -> Iterator[Rehearsal | UnknownRehearsal]:
    for folder in folders():
        if is_locked(folder):  # first: what a dead one left may be damaged
            with contextlib.suppress(FileNotFoundError):  # it starts, or it ends just now
                yield from _read(folder)


def _read(folder: Path) -> Iterator[Rehearsal | UnknownRehearsal]:
    try:
        state = read_state(folder)
        if state:
            yield Rehearsal(folder, read_request(folder), state)
    except UnreadableState as error:
        yield UnknownRehearsal(folder, str(error))
