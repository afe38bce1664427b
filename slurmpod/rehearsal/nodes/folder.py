"""The machines' part of a rehearsal's folder: its owner and its cgroup.

The machines of the first network are in the rehearsal's own folder. Each further network has a
similar folder below `networks`. Every network's folder lists its users, for example the clusters
whose machines are in it.

The owner holds a lock on a file while it runs, so that an unlocked file means that the owner is
dead, even if it could not clean up.
"""

from __future__ import annotations

import fcntl
import uuid
from pathlib import Path
from typing import IO

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.errors import MachineFailed

_LOCK = "lock"
_CGROUP = "cgroup"
_NETWORKS = "networks"
_USERS = "users"


class MachinesFolder:
    """The folder `machines` of a rehearsal's directory, claimed by this process."""

    def __init__(self, path: Path, lock: IO[str], cgroup: Path) -> None:
        self.path = path
        self.cgroup = cgroup
        self._lock = lock

    @classmethod
    def claim(cls, directory: Path) -> MachinesFolder:
        """Create the folder and a cgroup for all processes of the machines.

        Raises MachineFailed if the folder exists or there is no cgroup v2 hierarchy.
        """
        hierarchy = cgroups.hierarchy()
        if hierarchy is None:
            raise MachineFailed("no cgroup v2 hierarchy is mounted on this computer")
        path = machines_folder(directory)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            raise MachineFailed(
                f"{directory} was used before: each rehearsal needs its own"
            ) from None
        lock = (path / _LOCK).open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)  # a search for dead rehearsals may hold it briefly
        cgroup = hierarchy / f"{cgroups.PREFIX}{uuid.uuid4().hex[:12]}"
        (path / _CGROUP).write_text(str(cgroup))  # first, so that a crash leaves no unknown cgroup
        cgroup.mkdir()
        return cls(path, lock, cgroup)

    def release(self) -> None:
        """End all processes of the machines, then release the claim; may be repeated."""
        cgroups.kill(self.cgroup)
        self._lock.close()


def machines_folder(directory: Path) -> Path:
    """Return the folder for everything about machines in a rehearsal's directory."""
    return directory.absolute() / "machines"


def machines_cgroup(directory: Path) -> Path | None:
    """Return the cgroup of a rehearsal's machines, or None if it never had any."""
    try:
        return Path((machines_folder(directory) / _CGROUP).read_text())
    except FileNotFoundError:
        return None


def further_network(directory: Path, number: int) -> Path:
    """Return the folder of an additional network of the rehearsal in `directory`."""
    return directory / _NETWORKS / str(number)


def enroll(network: Path, user: str) -> None:
    """Record in a network's folder that `user` has machines there, until `withdraw`."""
    users = network / _USERS
    users.mkdir(exist_ok=True)
    (users / user).touch()


def withdraw(network: Path, user: str) -> None:
    """Record that `user` has no machines in a network any more; it need not have had any."""
    (network / _USERS / user).unlink(missing_ok=True)


def network_of(directory: Path, cluster: str) -> Path:
    """Return the folder of the network with a cluster's machines.

    `enter_command` needs it because another network may have machines of the same names.
    """
    networks = _networks(directory)
    return next((each for each in networks if (each / _USERS / cluster).exists()), directory)


def clear_if_dead(directory: Path) -> bool:
    """End what a rehearsal's dead owner left running; True if there was anything.

    Does nothing while the owner runs, and never removes files.
    """
    cleared = [_clear_if_dead(network) for network in _networks(directory)]
    return any(cleared)


def _networks(directory: Path) -> list[Path]:
    return [directory, *(directory / _NETWORKS).glob("*")]


def _clear_if_dead(directory: Path) -> bool:
    try:
        lock = (machines_folder(directory) / _LOCK).open("r+")
    except (FileNotFoundError, NotADirectoryError):
        return False
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        cgroup = machines_cgroup(directory)
        if cgroup is None or not cgroup.name.startswith(cgroups.PREFIX) or not cgroup.exists():
            return False
        cgroups.kill(cgroup)
        return True
