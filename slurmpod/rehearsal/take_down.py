"""The ends of rehearsals: by another command, and of what a dead one left behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from slurmpod.rehearsal.home import rehearsals
from slurmpod.rehearsal.nodes.folder import clear_if_dead
from slurmpod.rehearsal.state import forget_process, read_pid

LOCK_FILE = "lock"
"""The file in a rehearsal's folder that its host process locks for as long as it lives."""

START_TIMEOUT_SECONDS = 60
END_TIMEOUT_SECONDS = 30
KILL_TIMEOUT_SECONDS = 5
REMOVE_TIMEOUT_SECONDS = 5


class RehearsalFailed(Exception):
    """The rehearsal could not go on; the text says what happened and where to look."""


def end(folder: Path) -> None:
    """End a rehearsal that another command left up; returns when nothing of it is left.

    Raises RehearsalFailed when its host process does not end, or a file cannot be removed.
    """
    _end_process(folder)
    deadline = time.monotonic() + REMOVE_TIMEOUT_SECONDS
    while folder.exists():  # its host, which removes it, too, may still be at it
        try:
            _clear(folder)
        except OSError as error:
            if time.monotonic() > deadline:
                _mark_dead(folder)
                raise RehearsalFailed(_not_removed(folder, error)) from error
            time.sleep(0.05)


def clear_dead() -> tuple[str, ...]:
    """Remove what dead rehearsals left, and only that; return their names."""
    return tuple(folder.name for folder in folders() if remove_if_dead(folder))


def uncleared() -> tuple[str, ...]:
    """Return what cannot be removed of dead rehearsals, one line for each of them."""
    return tuple(_uncleared())


def remove_if_dead(folder: Path) -> bool:
    """Remove a rehearsal's folder and leftovers if no process holds its lock; True when gone."""
    with contextlib.suppress(OSError):
        _clear_if_dead(folder)
    return not folder.exists()


def folders() -> list[Path]:
    """Return the folders of all rehearsals, those of dead ones, too."""
    return sorted(path for path in rehearsals().glob("*") if path.is_dir())


def is_locked(folder: Path) -> bool:
    """Tell whether a rehearsal lives, or somebody is just clearing what it left."""
    with contextlib.suppress(FileNotFoundError), (folder / LOCK_FILE).open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _mark_dead(folder: Path) -> None:
    """Leave a lock that nobody holds, so that the next command tries to remove the folder again."""
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
    which = f"process {pid}" if pid else "a process that its files do not tell"
    raise RehearsalFailed(f"{folder} cannot be ended: {which} still holds {folder / LOCK_FILE}")


def _is_unlocked_within(folder: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_locked(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _send(folder: Path, number: signal.Signals) -> None:
    """Send the host process a signal, while it lives: later its id may be another process's.

    Who removes a dead rehearsal holds the lock, too, but then `forget_process` comes first.
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
    """Clear what a dead rehearsal left; raises OSError about what cannot be removed."""
    try:
        lock = (folder / LOCK_FILE).open("r+")
    except FileNotFoundError:  # it is being made, or an end of it was interrupted
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
    """End and remove all that is left of a dead rehearsal, its lock last.

    The lock says that what is left is dead, should something not be removable, or this process be
    killed. Raises OSError about what cannot be removed.
    """
    forget_process(folder)
    clear_if_dead(folder)
    for path in folder.glob("*"):
        shutil.rmtree(path, ignore_errors=True)  # which leaves files, and goes on after an error
    for path in _deepest_first(folder):
        if path != folder / LOCK_FILE:
            _remove(path)
    _remove(folder / LOCK_FILE)
    _remove(folder)


def _deepest_first(folder: Path) -> Iterator[Path]:
    for top, folders, files in os.walk(folder, topdown=False):
        yield from (Path(top, name) for name in (*files, *folders))


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # its host, or another command, was faster
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
