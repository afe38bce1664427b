"""Check of this computer: what rehearsals need and it lacks, and how to get it."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slurmpod.rehearsal.nodes import cgroups

_OLDEST_KERNEL = (5, 14)
"""Has cgroup.kill (5.14) and time namespaces (5.6); Debian 12 and Ubuntu 22.04 are newer."""


@dataclass(frozen=True)
class MissingPart:
    """One missing requirement: what it is, why it is needed, and how to get it."""

    what: str
    why: str
    fix: str

    def __str__(self) -> str:
        """Return the message for the user."""
        return f"this machine lacks {self.what}: {self.why}\n  fix: {self.fix}"


@dataclass(frozen=True)
class HostPackage:
    """A Debian or Ubuntu package, and how to detect it: by commands, or else by a file."""

    name: str
    why: str
    commands: tuple[str, ...] = ()
    file: Path | None = None

    def is_present(self) -> bool:
        """Return whether the package's commands or file exist, from whatever source."""
        search = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
        has_commands = all(shutil.which(command, path=search) for command in self.commands)
        return has_commands and (self.file is None or self.file.exists())


HOST_PACKAGES = (
    HostPackage(
        "mmdebstrap", "bakes the node image; Slurm's packages come from Debian", ("mmdebstrap",)
    ),
    HostPackage(
        "debian-archive-keyring",
        "verifies that the packages in the node image are Debian's",
        file=Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    ),
    HostPackage(
        "util-linux",
        "creates and enters the namespaces of machines",
        ("unshare", "nsenter", "setpriv", "pivot_root", "mount"),
    ),
    HostPackage("iproute2", "creates the network between the machines", ("ip",)),
    HostPackage("tar", "copies files to a machine before it boots", ("tar",)),
)
"""All packages that rehearsals need from the computer's distribution."""


@dataclass(frozen=True)
class KernelLimit:
    """A kernel-wide limit that many machines reach; `per_machine` is a measured value."""

    setting: str
    per_machine: int
    why: str
    enough: int


INOTIFY = KernelLimit(
    "fs.inotify.max_user_instances",
    4,
    "every machine's systemd watches files; if it cannot, its units fail",
    8192,
)
NEIGHBOURS = KernelLimit(
    "net.ipv4.neigh.default.gc_thresh3",
    8,
    "all machines share one neighbor table; if it overflows, jobs fail",
    16384,
)


PROC_SYS = Path("/proc/sys")


def missing(machine_count: int) -> list[MissingPart]:
    """Return everything that this computer lacks to run so many machines."""
    if platform.system() != "Linux":
        return [
            MissingPart(
                what="Linux",
                why="machines are made of Linux namespaces",
                fix="run the rehearsal on a Debian or Ubuntu computer, or in a virtual machine",
            )
        ]
    return [*_missing_rights(), *_missing_kernel(), *_missing_tools(), *_low_limits(machine_count)]


def missing_packages() -> list[str]:
    """Return the Debian packages that must be installed, in the order of HOST_PACKAGES."""
    return [package.name for package in HOST_PACKAGES if not package.is_present()]


def raise_limits() -> list[str]:
    """Raise the limits that clusters of any size need, until the next boot; return the changes.

    Limits that this process may not write are unchanged; `missing` reports them if too low.
    """
    done = []
    for limit in (INOTIFY, NEIGHBOURS):
        with contextlib.suppress(OSError):
            before = _limit(limit.setting)
            if before < limit.enough:
                _file(limit.setting).write_text(str(limit.enough))
                done.append(f"raised {limit.setting} from {before} to {limit.enough}: {limit.why}")
    return done


def _missing_rights() -> Iterator[MissingPart]:
    if os.geteuid() != 0:
        yield MissingPart(
            what="root",
            why="only root can create machines with their own systemd",
            fix="run the command with sudo",
        )


def _missing_kernel() -> Iterator[MissingPart]:
    release = platform.release()
    version = tuple(int(part) for part in release.split("-")[0].split(".")[:2])
    if version < _OLDEST_KERNEL or not Path("/proc/self/ns/time").exists():
        yield MissingPart(
            what="a newer Linux kernel",
            why=f"this is {release}; cgroup.kill and time namespaces are needed",
            fix="use Linux 5.14 or newer, for example from Debian 12 or Ubuntu 22.04",
        )
    if not _has_overlayfs():
        yield MissingPart(
            what="overlayfs",
            why="all machines share one image, each with its own changes in an overlay",
            fix="load it with: modprobe overlay",
        )
    hierarchy = cgroups.hierarchy()
    is_root = os.geteuid() == 0  # other users may not write there: one problem is enough
    if hierarchy is None or (is_root and not os.access(hierarchy, os.W_OK)):
        yield MissingPart(
            what="a writable cgroup v2 hierarchy",
            why="each machine's systemd keeps its services in control groups",
            fix="mount one with: mkdir -p /sys/fs/cgroup/unified && "
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified"
            if hierarchy is None
            else f"in a container, run it privileged; otherwise remount {hierarchy} writable",
        )


def _missing_tools() -> Iterator[MissingPart]:
    for package in HOST_PACKAGES:
        if not package.is_present():
            yield MissingPart(
                what=package.name, why=package.why, fix=f"apt-get install --yes {package.name}"
            )


def _low_limits(machine_count: int) -> Iterator[MissingPart]:
    for limit, in_use in ((INOTIFY, _inotify_instances()), (NEIGHBOURS, 0)):
        needed = in_use + limit.per_machine * machine_count
        if _limit(limit.setting) < needed:
            yield MissingPart(
                what=f"{limit.setting} of {needed} or more, for {machine_count} machines",
                why=limit.why,
                fix=f"sysctl -w {limit.setting}={limit.enough}",
            )


def _inotify_instances() -> int:
    """Return how many are in use by all processes, including other rehearsals' machines."""
    return sum(map(inotify_instances_of, Path("/proc").glob("[0-9]*")))


def inotify_instances_of(process: Path) -> int:
    """Return how many a process has open; `process` is its /proc folder, removed at its end."""
    count = 0
    with contextlib.suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with contextlib.suppress(OSError):  # it was closed just now
                count += str(descriptor.readlink()) == "anon_inode:inotify"
    return count


def _limit(setting: str) -> int:
    return int(_file(setting).read_text())


def _file(setting: str) -> Path:
    return PROC_SYS.joinpath(*setting.split("."))


def _has_overlayfs() -> bool:
    if "\toverlay\n" in Path("/proc/filesystems").read_text():
        return True
    if shutil.which("modprobe") is None:
        return False
    probe = subprocess.run(["modprobe", "--dry-run", "--quiet", "overlay"], check=False)
    return probe.returncode == 0
