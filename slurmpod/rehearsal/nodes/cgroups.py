"""Control groups that hold all processes of a rehearsal or of one machine.

Only the unified hierarchy (cgroup v2) is used, and only to group and kill; no controller is
needed. It may be the host's only hierarchy (mounted on /sys/fs/cgroup) or coexist with v1.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

PREFIX = "slurmpod-"
"""The name prefix of a rehearsal's cgroups; no others are ever killed or removed."""

_KILL_SECONDS = 60.0

_JOIN = """
echo 0 >"$1/cgroup.procs" && shift && exec "$@"
"""

IGNORING_NO_SIGNAL = ("env", "--default-signal")
"""Runs a command without ignored signals, even if the starting process ignores some: under nohup,
nsenter could not pass on the SIGHUP that distinguishes a reboot from a power cut."""


class CgroupStuck(Exception):
    """Raised if processes remain in a cgroup long after they were killed."""


def hierarchy() -> Path | None:
    """Return the mount point of the cgroup v2 hierarchy, or None if it is not mounted."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount_point, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(mount_point)
    return None


def joined(cgroup: Path, command: list[str]) -> list[str]:
    """Return `command` wrapped to run in `cgroup`, which is created if its parent exists.

    Every wrapper program takes a millisecond or more, so there are few.
    """
    with contextlib.suppress(OSError):  # it exists, or its parent is gone and joining fails
        cgroup.mkdir()
    return ["sh", "-c", _JOIN, "sh", str(cgroup), *command]


def init_pid(cgroup: Path) -> int | None:
    """Return the pid, as seen by this process, of the systemd that runs in `cgroup`.

    A systemd with pid 1 keeps itself and, briefly, its helpers in `init.scope`. None if there is
    no such process.
    """
    return first_pid(cgroup / "init.scope")


def first_pid(cgroup: Path) -> int | None:
    """Return the pid, as seen by this process, of a namespace's pid 1 that runs in `cgroup`.

    None if there is no such process or cgroup.
    """
    try:
        pids = (cgroup / "cgroup.procs").read_text().split()
    except OSError:
        return None
    return next((int(pid) for pid in pids if _is_pid_one(pid)), None)


def kill(cgroup: Path) -> None:
    """Kill all processes in `cgroup` and below, wait until they end, and remove the directories.

    Does nothing if the cgroup does not exist. Raises CgroupStuck if a process does not end.
    """
    deadline = time.monotonic() + _KILL_SECONDS
    while cgroup.exists():
        if time.monotonic() > deadline:
            raise CgroupStuck(f"processes in {cgroup} do not end; see {cgroup}/cgroup.procs")
        _signal(cgroup)
        _remove_empty(cgroup)
        time.sleep(0.005)


def _is_pid_one(pid: str) -> bool:
    """Return whether a process has pid 1 in its own pid namespace."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    own_pids = status.partition("NSpid:")[2].partition("\n")[0].split()
    return own_pids[-1:] == ["1"]


def _signal(cgroup: Path) -> None:
    with contextlib.suppress(OSError):  # another process may remove it meanwhile
        (cgroup / "cgroup.kill").write_text("1")


def _remove_empty(cgroup: Path) -> None:
    for directory, _, _ in os.walk(cgroup, topdown=False):
        with contextlib.suppress(OSError):  # a process in it is still ending
            Path(directory).rmdir()
