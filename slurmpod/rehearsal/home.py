"""Folders of the rehearsals on disk: node images, and one folder for each rehearsal."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """Return the folder of all state, which may not exist yet.

    `SLURMPOD_HOME` chooses it; otherwise it is /var/lib/slurmpod for root, and
    ~/.local/state/slurmpod for everybody else.
    """
    chosen = os.environ.get("SLURMPOD_HOME")
    if chosen:
        return Path(chosen).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/slurmpod")
    return Path.home() / ".local/state/slurmpod"


def images() -> Path:
    """Return the folder of baked node images, each named by the digest of what made it."""
    return home() / "images"


def rehearsals() -> Path:
    """Return the folder that holds one folder for each rehearsal, running or dead."""
    return home() / "rehearsals"
