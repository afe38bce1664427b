"""Expectations of this node, written by the lifecycle scripts when they set it up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PATH = Path("/etc/slurmpod/health.json")


@dataclass(frozen=True)
class SharedFolder:
    """The mount point of a shared file system; `writable` says whether root may write there."""

    path: str
    writable: bool


@dataclass(frozen=True)
class Expectations:
    """The node's name in Slurm, its hardware from the catalog, and its folders.

    `scratch` is None if there was no disk for it.
    """

    node: str
    accelerator_kind: str
    accelerators: int
    efa_interfaces: int
    scratch: str | None
    shared_folders: tuple[SharedFolder, ...]
    free_mib_on_root: int

    @classmethod
    def load(cls, path: Path = PATH) -> Expectations:
        """Read the file; raises OSError, ValueError, KeyError or TypeError if that fails."""
        data = json.loads(path.read_text(encoding="utf-8"))
        folders = tuple(SharedFolder(**each) for each in data["shared_folders"])
        return cls(**{**data, "shared_folders": folders})
