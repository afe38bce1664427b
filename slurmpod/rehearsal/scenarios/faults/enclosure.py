"""The surroundings of all nodes, from outside: what FSx serves, and how large disks are."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import machines_cgroup, machines_folder
from slurmpod.rehearsal.shell import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_UNCOVER = 'if mountpoint --quiet "$1"; then umount "$1"; fi'


def in_enclosure(folder: Path, *command: str) -> str:
    """Run a command among the mounts in which all machines of a rehearsal live."""
    machines = machines_cgroup(folder)
    pid = cgroups.first_pid(machines) if machines else None
    if pid is None:
        raise MachineFailed(f"there are no machines in {folder}")
    result = subprocess.run(
        ["nsenter", f"--target={pid}", "--mount", "--", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise CommandFailed(f"{' '.join(command)}: {result.stderr}")
    return result.stdout.rstrip()


def file_systems(folder: Path) -> Path:
    """Return where, in the enclosure, the shared file systems of all machines are mounted."""
    return machines_folder(folder) / "file-systems"


def disk(folder: Path, node: str) -> Path:
    """Return where, in the enclosure, a node's disk is mounted."""
    return machines_folder(folder) / node / "disk"


@contextmanager
def covered(folder: Path, place: Path, *, options: str = "mode=755") -> Iterator[None]:
    """Have an empty file system in memory on a folder of the enclosure, for as long as the block.

    Mounts show it under the folder's own name.
    """
    try:
        mount = ("mount", "-t", "tmpfs", "-o", options, place.name, str(place))
        in_enclosure(folder, *mount)
        yield
    finally:
        in_enclosure(folder, "sh", "-c", _UNCOVER, "sh", str(place))


@contextmanager
def unmountable(folder: Path) -> Iterator[None]:
    """Let no node mount a Lustre file system that it has not mounted yet; the server answers."""
    servers = file_systems(folder) / "lustre"
    names = in_enclosure(folder, "ls", str(servers)).split()
    with ExitStack() as undo:
        for name in names:
            undo.enter_context(covered(folder, servers / name))
        yield
