"""One training at a time in a folder: a lock that its first process holds while it lives.

Two trainings in one folder would remove each other's checkpoints. A flock() lock works between
nodes on Lustre that is mounted with the option `flock`, and on NFS 4. It ends with its process,
however that ends. Only if a node lost power it stays until the file system gives that node up:
Lustre takes about four minutes, NFS less. So this waits for a held lock, or a step that is
restarted soon could not get it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from pathlib import Path
from typing import TextIO

NAME = ".lock"
PATIENCE = 600.0
PAUSE = 5.0
NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


class FolderTaken(Exception):
    """Another training holds the lock, and is alive: a dead one would have lost it by now."""


def lock(folder: Path) -> TextIO:
    """Return the locked file of a folder; the lock ends when it is closed.

    Raises FolderTaken if another process holds it for longer than a dead one can.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / NAME).open("a+")
    if not _is_locked_by_us(file):
        _wait_for(file, folder)
    file.truncate(0)
    file.write(f"job {os.environ.get('SLURM_JOB_ID', '-')} on {socket.gethostname()}\n")
    file.flush()
    return file


def _wait_for(file: TextIO, folder: Path) -> None:
    """Wait until the lock is ours; prints a message at once, as nothing else happens meanwhile."""
    until = time.monotonic() + PATIENCE
    limit = f"{PATIENCE / 60:.0f} minutes"
    print(f"{folder} is locked by {_holder(folder)}: waiting for up to {limit}", flush=True)
    while not _is_locked_by_us(file):
        if time.monotonic() > until:
            raise FolderTaken(f"another training writes here: {folder} ({_holder(folder)})")
        time.sleep(PAUSE)


def _is_locked_by_us(file: TextIO) -> bool:
    """Try to lock a file; without support for locks, a second training is not prevented."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        reason = f"{file.name} cannot be locked ({error.strerror})"
        print(f"{reason}: see that no second training is started here", flush=True)
    return True


def _holder(folder: Path) -> str:
    """Return what the training that holds the lock has written about itself."""
    return (folder / NAME).read_text().strip() or "another training"
