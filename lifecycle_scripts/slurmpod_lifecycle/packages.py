"""Packages for nodes whose image lacks some: from Ubuntu's archive, or from a file."""

from __future__ import annotations

import threading

from slurmpod_lifecycle.failures import CommandFailed
from slurmpod_lifecycle.machine import RUN_BY_HAND, Machine

LOCK_PATIENCE_SECONDS = 240
TIMEOUT_SECONDS = 540
"""Longer than apt waits for its lock, so that it ends by itself and leaves nothing half done."""

_QUIETLY = ("env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1")
"""Nobody answers questions, and needrestart leaves the daemons of a node in service alone."""

_OPTIONS = (
    f"DPkg::Lock::Timeout={LOCK_PATIENCE_SECONDS}",
    "Acquire::Retries=3",
    "Dpkg::Options::=--force-confdef",
    "Dpkg::Options::=--force-confold",
)
_APT_GET = (*_QUIETLY, "apt-get", "--quiet", "--yes", *(f"-o{each}" for each in _OPTIONS))

_one_at_a_time = threading.Lock()
"""Steps run side by side; they wait here for each other, not for one another's lock in apt."""


def install(machine: Machine, *names: str, fix: str = RUN_BY_HAND) -> None:
    """Install packages; raises CommandFailed, which passes where another installation goes on.

    A new node's unattended upgrades hold apt's locks for minutes. apt-get waits for the lock of
    dpkg; for that of the lists it does not, then this is tried again.
    """
    with _one_at_a_time:
        _finish_interrupted(machine)
        _apt_get(machine, "update", fix=fix)
        _apt_get(machine, "install", "--no-install-recommends", *names, fix=fix)


def install_file(machine: Machine, path: str, *, fix: str = RUN_BY_HAND) -> None:
    """Install the package in a file; what it depends on may come from Ubuntu's archive.

    Raises CommandFailed as `install` does. The archive is asked only for what is missing, so that
    a node without a way to it can install a package that needs nothing more.
    """
    command = ("install", "--no-install-recommends", path)
    with _one_at_a_time:
        _finish_interrupted(machine)
        try:
            _apt_get(machine, *command, fix=fix)
        except CommandFailed:
            machine.succeeds(*_APT_GET, "update")
            _apt_get(machine, *command, fix=fix)


def _finish_interrupted(machine: Machine) -> None:
    """Finish what an earlier installation began: until then apt-get refuses all others."""
    machine.succeeds(*_QUIETLY, "dpkg", "--configure", "-a")


def _apt_get(machine: Machine, *words: str, fix: str) -> None:
    machine.run(*_APT_GET, *words, fix=fix, timeout_seconds=TIMEOUT_SECONDS)
