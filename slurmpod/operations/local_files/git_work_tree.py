"""The git state of a folder: its files, its commit, and whether there are other changes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEX_SHOWN = 12


@dataclass(frozen=True)
class Commit:
    """The commit of a folder; `is_dirty` if there are uncommitted changes."""

    id: str
    is_dirty: bool

    def __str__(self) -> str:
        """Return the commit as text for people."""
        return f"commit {self.id[:HEX_SHOWN]}" + (" with changes" if self.is_dirty else "")


def commit_of(folder: Path) -> Commit | None:
    """Return the commit of a folder; None if git has none, or ignores the folder."""
    found = _git(folder, "rev-parse", "--verify", "HEAD")
    if found is None or not kept_by_git(folder):
        return None
    changes = _git(folder, "status", "--porcelain", "--", ".")
    return Commit(os.fsdecode(found).strip(), bool(changes))


def kept_by_git(folder: Path) -> frozenset[Path]:
    """Return the paths that git tracks or would add; none in a folder that it ignores or lacks."""
    return frozenset(_kept(folder))


def _kept(folder: Path) -> Iterator[Path]:
    listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard") or b""
    for name in filter(None, listed.split(b"\0")):
        path = folder / os.fsdecode(name)
        if path.is_dir() and not path.is_symlink():  # a submodule, or a nested repository
            yield from _kept(path)
        else:
            yield path


def _git(folder: Path, *command: str) -> bytes | None:
    """Return the output of git; None if it is missing, or fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *command], capture_output=True, check=False
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
