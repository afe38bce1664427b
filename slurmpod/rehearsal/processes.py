"""Lifetimes of rehearsals: starting, finding and ending them from any command.

The starting command takes the lock on a rehearsal's folder and its host process inherits it, so
that a live rehearsal never looks dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from embedded_aws.isolation import variables
from slurmpod.folders import home
from slurmpod.problems import WorkFailed
from slurmpod.rehearsal.nodes.folder import clear_if_dead
from slurmpod.rehearsal.state import (
    KEEP,
    Request,
    State,
    UnreadableState,
    forget_process,
    read_pid,
    read_request,
    read_state,
    rehearsals,
    write_pid,
    write_request,
)

LOCK_FILE = "lock"
"""The file in a rehearsal's folder that its host process keeps locked while it runs."""

START_TIMEOUT_SECONDS = 60
END_TIMEOUT_SECONDS = 30
KILL_TIMEOUT_SECONDS = 5
REMOVE_TIMEOUT_SECONDS = 5

LOG_FILE = "host.log"
LINES_SHOWN = 15


class RehearsalFailed(WorkFailed):
    """The rehearsal failed; the text says what happened and where to look.

    `kept` is the rehearsal if it is still running, `node` the host name of the node to inspect, if
    there is one.
    """

    def __init__(self, text: str, kept: Rehearsal | None = None, node: str = "") -> None:
        super().__init__(text)
        self.kept = kept
        self.node = node


@dataclass(frozen=True)
class Rehearsal:
    """A running rehearsal: its folder, its request and its state."""

    folder: Path
    request: Request
    state: State

    @property
    def identifier(self) -> str:
        """The rehearsal's id: its folder's name."""
        return self.folder.name

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that direct AWS tools to this rehearsal."""
        return variables(
            endpoint=self.state.endpoint,
            account=self.request.account,
            region=self.request.region,
        )


@dataclass(frozen=True)
class UnknownRehearsal:
    """A running rehearsal whose files cannot be read; it can only be ended."""

    folder: Path
    problem: str

    @property
    def identifier(self) -> str:
        """The rehearsal's id: its folder's name."""
        return self.folder.name


class Host:
    """A host process that this process has started; the two end together unless it is kept."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.is_kept = False
        self._process = process

    @classmethod
    def start(cls, request: Request) -> Self:
        """Start a host process in a new folder and return at once; see `wait_until_ready`."""
        folder = rehearsals() / f"{request.name}-{secrets.token_hex(3)}"
        try:
            return cls(folder, _start_process(folder, request))
        except BaseException:  # Ctrl-C, too; a started process sees its stdin close and exits
            _discard(folder)
            raise

    def wait_until_ready(self) -> Rehearsal:
        """Return the running rehearsal; raises RehearsalFailed if it does not start."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            rehearsal = self.rehearsal()
            if rehearsal:
                return rehearsal
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise RehearsalFailed(self._last_words())

    def rehearsal(self) -> Rehearsal | None:
        """Return the rehearsal while it runs, else None."""
        state = read_state(self.folder)
        if state is None or self._process.poll() is not None:
            return None
        return Rehearsal(self.folder, read_request(self.folder), state)

    def require_running(self) -> None:
        """Raise RehearsalFailed if the host process has exited."""
        if self._process.poll() is not None:
            raise RehearsalFailed(self._last_words())

    def keep(self) -> None:
        """Let the rehearsal outlive this process."""
        assert self._process.stdin  # noqa: S101  # opened as a pipe
        self._process.stdin.write(KEEP)
        self._process.stdin.close()
        self.is_kept = True

    def end(self) -> None:
        """End the host process and all that it owns, and remove the folder; may be repeated."""
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
    """Kill a host process that owns nothing yet, so that its folder can be removed."""
    with process:
        process.kill()


def _discard(folder: Path) -> None:
    """Remove the folder of a rehearsal whose process did not start."""
    if not remove_if_dead(folder) and not (folder / LOCK_FILE).exists():
        shutil.rmtree(folder, ignore_errors=True)


def running() -> tuple[Rehearsal | UnknownRehearsal, ...]:
    """Return all running rehearsals, sorted by name."""
    return tuple(_running())


def keep_logs(folder: Path) -> Path:
    """Copy a failed rehearsal's logs to the folder that the next failure overwrites."""
    logs = home() / "last-failure"
    shutil.rmtree(logs, ignore_errors=True)
    for log in sorted(folder.rglob("*.log")):
        copy = logs / log.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, copy)
    return logs


def _running() -> Iterator[Rehearsal | UnknownRehearsal]:
    for folder in folders():
        if is_locked(folder):  # first: files of a dead one may be damaged
            with contextlib.suppress(FileNotFoundError):  # it is starting or ending right now
                yield from _read(folder)


def _read(folder: Path) -> Iterator[Rehearsal | UnknownRehearsal]:
    try:
        state = read_state(folder)
        if state:
            yield Rehearsal(folder, read_request(folder), state)
    except UnreadableState as error:
        yield UnknownRehearsal(folder, str(error))


def end(folder: Path) -> None:
    """End a rehearsal that another command kept running; return when nothing of it is left.

    Raises RehearsalFailed if its host process does not end or a file cannot be removed.
    """
    _end_process(folder)
    deadline = time.monotonic() + REMOVE_TIMEOUT_SECONDS
    while folder.exists():  # its host may still be removing it
        try:
            _clear(folder)
        except OSError as error:
            if time.monotonic() > deadline:
                _mark_dead(folder)
                raise RehearsalFailed(_not_removed(folder, error)) from error
            time.sleep(0.05)


def clear_dead() -> tuple[str, ...]:
    """Remove the remains of dead rehearsals, and only those; return their names."""
    return tuple(folder.name for folder in folders() if remove_if_dead(folder))


def uncleared() -> tuple[str, ...]:
    """Return what cannot be removed of dead rehearsals, one line per rehearsal."""
    return tuple(_uncleared())


def remove_if_dead(folder: Path) -> bool:
    """Remove a rehearsal's folder and leftovers if no process holds its lock; True when gone."""
    with contextlib.suppress(OSError):
        _clear_if_dead(folder)
    return not folder.exists()


def folders() -> list[Path]:
    """Return the folders of all rehearsals, including dead ones."""
    return sorted(path for path in rehearsals().glob("*") if path.is_dir())


def is_locked(folder: Path) -> bool:
    """Return whether a rehearsal runs, or a process is removing its remains."""
    with contextlib.suppress(FileNotFoundError), (folder / LOCK_FILE).open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _mark_dead(folder: Path) -> None:
    """Leave an unlocked lock file, so that the next command tries again to remove the folder."""
    with contextlib.suppress(OSError):
        (folder / LOCK_FILE).touch()  # the host may have removed it


def _end_process(folder: Path) -> None:
    for number, seconds in (
        (signal.SIGTERM, END_TIMEOUT_SECONDS),
        (signal.SIGKILL, KILL_TIMEOUT_SECONDS),
    ):
        _send(folder, number)
        if _is_unlocked_within(folder, seconds):
            return
    pid = read_pid(folder)
    which = f"process {pid}" if pid else "an unknown process"
    raise RehearsalFailed(f"{folder} cannot be ended: {which} still holds {folder / LOCK_FILE}")


def _is_unlocked_within(folder: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_locked(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _send(folder: Path, number: signal.Signals) -> None:
    """Send a signal to the host process, if it still runs: later its id may be reused.

    A process that removes a dead rehearsal also holds the lock, but calls `forget_process` first.
    """
    pid = read_pid(folder)
    if pid and is_locked(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _uncleared() -> Iterator[str]:
    for folder in folders():
        try:
            _clear_if_dead(folder)
        except OSError as error:
            yield _not_removed(folder, error)


def _not_removed(folder: Path, error: OSError) -> str:
    reason = error.strerror or error
    return f"{folder} cannot be removed: {error.filename or folder}: {reason}"


def _clear_if_dead(folder: Path) -> None:
    """Remove the remains of a dead rehearsal; raises OSError for what cannot be removed."""
    try:
        lock = (folder / LOCK_FILE).open("r+")
    except FileNotFoundError:  # it is being created, or its removal was interrupted
        if _is_older_than_a_start(folder):
            _clear(folder)
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        _clear(folder)


def _is_older_than_a_start(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > START_TIMEOUT_SECONDS
    except FileNotFoundError:
        return False


def _clear(folder: Path) -> None:
    """End and remove everything left of a dead rehearsal, its lock file last.

    The lock file marks the remains as dead if something cannot be removed or this process is
    killed. Raises OSError for what cannot be removed.
    """
    forget_process(folder)
    clear_if_dead(folder)
    for path in folder.glob("*"):
        shutil.rmtree(path, ignore_errors=True)  # leaves files that it cannot remove
    for path in _deepest_first(folder):
        if path != folder / LOCK_FILE:
            _remove(path)
    _remove(folder / LOCK_FILE)
    _remove(folder)


def _deepest_first(folder: Path) -> Iterator[Path]:
    for top, folders, files in os.walk(folder, topdown=False):
        yield from (Path(top, name) for name in (*files, *folders))


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # its host, or another command, removed it first
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
