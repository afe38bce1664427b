"""A file of the user's machine to copy: its digest, and whether it is executable."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass
from pathlib import Path

DIGEST_BYTES = 16
"""Length of a digest: enough to distinguish files, and half of a SHA-256 in each command. Packs
have their whole SHA-256."""


@dataclass(frozen=True)
class LocalFile:
    """A file to copy; `is_program` if its owner may execute it."""

    path: Path
    size: int
    digest: str
    is_program: bool

    @classmethod
    def of(cls, path: Path) -> LocalFile:
        """Return a file in its current state."""
        facts = path.stat()
        with path.open("rb") as content:
            read = hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES))
        return cls(path, facts.st_size, read.hexdigest(), bool(facts.st_mode & stat.S_IXUSR))
