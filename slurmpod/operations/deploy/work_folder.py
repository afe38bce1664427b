"""The folder on this machine for work on an environment's stacks, locked by one command."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slurmpod.folders import home
from slurmpod.problems import WorkFailed
from slurmpod.resolve import Resolved


@contextmanager
def work_folder(resolved: Resolved) -> Iterator[Path]:
    """Lock the folder for work on an environment's stacks; its logs stay there afterwards.

    Raises:
        WorkFailed: Another command on this machine holds it.
    """
    name = f"{resolved.account}-{resolved.region}-{resolved.name}"
    folder = home() / "deployments" / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkFailed(
                f"another slurmpod on this machine is working on {resolved.name}: wait for it"
            ) from None
        yield folder
