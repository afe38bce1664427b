"""Digests of staged files: SHA-256, and the ETag that S3 gives an object."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

BLOCK = 1 << 20
OF_PARTS = re.compile(r"[0-9a-f]{32}-[0-9]+")
WHOLE = re.compile(r"[0-9a-f]{32}")


class Digests:
    """Digests of a stream of bytes.

    The ETag of an object that was uploaded in parts is the MD5 of their MD5s ("Checking object
    integrity", Amazon S3 user guide); `part_size` is 0 for one that was not.
    """

    def __init__(self, part_size: int = 0) -> None:
        self.size = 0
        self.part_size = part_size
        self._sha256 = hashlib.sha256()
        self._md5 = _md5()
        self._in_part = 0
        self._parts: list[bytes] = []

    def take(self, block: bytes) -> None:
        """Add the next bytes."""
        self.size += len(block)
        self._sha256.update(block)
        while self.part_size and self._in_part + len(block) >= self.part_size:
            rest = self.part_size - self._in_part
            self._md5.update(block[:rest])
            self._end_part()
            block = block[rest:]
        self._md5.update(block)
        self._in_part += len(block)

    def _end_part(self) -> None:
        self._parts.append(self._md5.digest())
        self._md5, self._in_part = _md5(), 0

    @property
    def sha256(self) -> str:
        """The SHA-256 of all bytes."""
        return self._sha256.hexdigest()

    @property
    def etag(self) -> str:
        """S3's ETag of these bytes; may be read only at the end."""
        if not self.part_size:
            return self._md5.hexdigest()
        if self._in_part:
            self._end_part()
        of_all = _md5()
        of_all.update(b"".join(self._parts))
        return f"{of_all.hexdigest()}-{len(self._parts)}"


def of_file(file: Path, part_size: int = 0) -> Digests:
    """Return the digests of a file."""
    digests = Digests(part_size)
    with file.open("rb") as content:
        while block := content.read(BLOCK):
            digests.take(block)
    return digests


def _md5() -> hashlib._Hash:
    return hashlib.md5(usedforsecurity=False)
