"""A file of the user's machine as it travels: its digest, and whether it is a program."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass
from pathlib import Path

DIGEST_BYTES = 16
"""Of a file: enough to tell files apart, and half of what SHA-256 would add to each command. Packs
have their whole SHA-256."""


@dataclass(frozen=True)
class LocalFile:
    """A file to be copied; `is_program` says that its owner may run it."""

    path: Path
    size: int
    digest: str
    is_program: bool

    @classmethod
    def of(cls, path: Path) -> LocalFile:
        """Return a file as it is now."""
        facts = path.stat()
        with path.open("rb") as content:
            read = hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES))
        return cls(path, facts.st_size, read.hexdigest(), bool(facts.st_mode & stat.S_IXUSR))
