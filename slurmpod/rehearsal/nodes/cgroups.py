"""Control groups: the handle by which all processes of a rehearsal, or of one machine, are held.

Only the unified hierarchy (cgroup v2) is used, and only to group and kill; no controller is
needed. It may be the host's only hierarchy (mounted on /sys/fs/cgroup) or stand beside v1.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

PREFIX = "slurmpod-"
"""How the name of every cgroup of a rehearsal begins; nothing else is ever killed or removed."""

_KILL_SECONDS = 60.0

_JOIN = """
echo 0 >"$1/cgroup.procs" && shift && exec "$@"
"""

IGNORING_NO_SIGNAL = ("env", "--default-signal")
"""Runs a command that ignores no signal, whatever the process that starts it ignores: under nohup,
nsenter could not pass on the SIGHUP that tells a reboot from a power cut."""


class CgroupStuck(Exception):
    """Raised when processes are still in a cgroup long after they were killed."""


def hierarchy() -> Path | None:
    """Return where the cgroup v2 hierarchy is mounted, or None where it is not."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount_point, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(mount_point)
    return None


def joined(cgroup: Path, command: list[str]) -> list[str]:
    """Return `command` such that it runs in `cgroup`, which is made here if its parent exists.

    Every program on the way to a command takes a millisecond or more, so there are few.
    """
    with contextlib.suppress(OSError):  # it is there, or its parent is gone: then joining fails
        cgroup.mkdir()
    return ["sh", "-c", _JOIN, "sh", str(cgroup), *command]


def init_pid(cgroup: Path) -> int | None:
    """Return the pid, as this process sees it, of the systemd that runs in `cgroup`.

    A systemd that is pid 1 keeps itself, and for moments its helpers, in `init.scope`. None when
    there is no such process.
    """
    return first_pid(cgroup / "init.scope")


def first_pid(cgroup: Path) -> int | None:
    """Return the pid, as this process sees it, of the pid 1 of a namespace that runs in `cgroup`.

    None when there is no such process, or no such cgroup.
    """
    try:
        pids = (cgroup / "cgroup.procs").read_text().split()
    except OSError:
        return None
    return next((int(pid) for pid in pids if _is_pid_one(pid)), None)


def kill(cgroup: Path) -> None:
    """Kill all processes in `cgroup` and below, wait for their end, and remove the directories.

    Does nothing when the cgroup is not there. Raises CgroupStuck when a process does not end.
    """
    deadline = time.monotonic() + _KILL_SECONDS
    while cgroup.exists():
        if time.monotonic() > deadline:
            raise CgroupStuck(f"processes in {cgroup} do not end; see {cgroup}/cgroup.procs")
        _signal(cgroup)
        _remove_empty(cgroup)
        time.sleep(0.005)


def _is_pid_one(pid: str) -> bool:
    """Return whether a process is the first of its own pid namespace."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    own_pids = status.partition("NSpid:")[2].partition("\n")[0].split()
    return own_pids[-1:] == ["1"]


def _signal(cgroup: Path) -> None:
    with contextlib.suppress(OSError):  # somebody else may remove it in the meantime
        (cgroup / "cgroup.kill").write_text("1")


def _remove_empty(cgroup: Path) -> None:
    for directory, _, _ in os.walk(cgroup, topdown=False):
        with contextlib.suppress(OSError):  # a process in it is still ending
            Path(directory).rmdir()
