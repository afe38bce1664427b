"""What is mounted where on this node, as the kernel says."""

from __future__ import annotations

from slurmpod_lifecycle.machine import Machine

MOUNTS = "/proc/self/mounts"


def source_at(machine: Machine, folder: str) -> str | None:
    """Return what is mounted at a folder, of several the uppermost; None where nothing is.

    What only waits for its first use, to be mounted then, is nothing.
    """
    fields = [line.split()[:3] for line in (machine.read(MOUNTS) or "").splitlines()]
    sources = [source for source, path, kind in fields if path == folder and kind != "autofs"]
    return sources[-1] if sources else None
