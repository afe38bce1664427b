"""Disks: the node's own scratch, the shared file systems, and free space on the root disk.

A shared file system that is not mounted on this node is the node's fault: jobs would write to its
root disk. One that is mounted but full or unresponsive is a problem of all nodes. Scratch that jobs
have filled up is no fault of the node either: one node after another would drain. Slurm, logs and
/tmp are on the root disk.
"""

from __future__ import annotations

import os
from pathlib import Path

from slurmpod_health.expectations import Expectations, SharedFolder
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed, ProbeTimedOut, probe

SECONDS = 2.0
MOUNTS = Path("/proc/self/mounts")
FULL = "No space left on device"
WRITE = """\
export LC_ALL=C
file=$(mktemp --dry-run -- "$1/.slurmpod-health-$2.XXXXXXXX") || exit
dd if=/dev/zero of="$file" bs=512 count=1 conv=excl status=none
status=$?
rm -f -- "$file"
exit $status
"""
"""A script that writes a test file where users can write too: it follows no link of theirs.

The name is different each time, as the checks of several jobs may run at once.
"""

ROOT_DISK = "root disk"
MIB = 1024 * 1024


def check_scratch(folder: str, node: str) -> Finding:
    """Check that scratch is mounted and writable; a slow or full disk is only reported."""
    name = f"scratch {folder}"
    if not is_mounted(folder):
        return Finding(name, Verdict.BAD, f"{folder} is not mounted")
    return _write(name, folder, node, at_fault=Verdict.BAD)


def check_shared(folder: SharedFolder, node: str) -> Finding:
    """Check that a shared file system is mounted and writable; entering it mounts it."""
    name = f"shared {folder.path}"
    try:
        probe("stat", "--file-system", f"{folder.path}/.", seconds=SECONDS)
    except ProbeTimedOut as error:
        return Finding(name, Verdict.REPORTED, f"{folder.path}: {error}")
    except ProbeFailed as error:
        verdict = Verdict.REPORTED if is_mounted(folder.path) else Verdict.BAD
        return Finding(name, verdict, f"{folder.path} cannot be entered: {error}")
    if not is_mounted(folder.path):
        return Finding(name, Verdict.BAD, f"{folder.path} is not mounted")
    if not folder.writable:
        return Finding(name, Verdict.GOOD, "mounted")
    return _write(name, folder.path, node, at_fault=Verdict.REPORTED)


def is_mounted(folder: str) -> bool:
    """Return whether a folder has a mount, not only an automount that was never used."""
    lines = (line.split() for line in MOUNTS.read_text(encoding="utf-8").splitlines())
    return any(fields[1] == folder and fields[2] != "autofs" for fields in lines)


def _write(name: str, folder: str, node: str, *, at_fault: Verdict) -> Finding:
    try:
        probe("sh", "-c", WRITE, "sh", folder, node, seconds=SECONDS)
    except ProbeFailed as error:
        is_busy = isinstance(error, ProbeTimedOut) or FULL in str(error)
        verdict = Verdict.REPORTED if is_busy else at_fault
        return Finding(name, verdict, f"{folder} cannot be written: {error}")
    return Finding(name, Verdict.GOOD, "writable")


def check_root_disk(expected: Expectations) -> Finding:
    """Compare the space that is free for root with the minimum."""
    status = os.statvfs("/")
    free = status.f_bfree * status.f_frsize // MIB
    enough = free >= expected.free_mib_on_root
    return Finding(ROOT_DISK, Verdict.GOOD if enough else Verdict.BAD, f"{free} MiB free on /")
