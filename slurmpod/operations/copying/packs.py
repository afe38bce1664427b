"""Files packed for transfer, by digest: the same files make the same pack.

So a pack that has arrived before is known by its name, and an interrupted copy continues.
"""

from __future__ import annotations

import gzip
import hashlib
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from slurmpod.operations.local_files.local_file import LocalFile

PACK_BYTES = 32_000_000
"""The most bytes of files in a pack, and so of a repeated transfer after a lost connection."""


@dataclass(frozen=True)
class Pack:
    """An archive of files under their digests, and its SHA-256."""

    file: Path
    sha256: str


def packs(files: Sequence[LocalFile], folder: Path) -> Iterator[Pack]:
    """Write files into packs below `folder`, and yield each when complete."""
    for number, group in enumerate(_groups(files)):
        yield packed(_write(group, folder / f"{number}.tar.gz"))


def packed(file: Path) -> Pack:
    """Return a written file as data to transfer."""
    with file.open("rb") as content:
        return Pack(file, hashlib.file_digest(content, "sha256").hexdigest())


def _groups(files: Sequence[LocalFile]) -> Iterator[list[LocalFile]]:
    different = {each.digest: each for each in files}
    group: list[LocalFile] = []
    size = 0
    for file in different.values():
        if group and size + file.size > PACK_BYTES:
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield group


def _write(files: Sequence[LocalFile], target: Path) -> Path:
    with (
        target.open("wb") as written,
        gzip.GzipFile("", "wb", compresslevel=1, fileobj=written, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for file in files:
            entry = tarfile.TarInfo(file.digest)
            entry.size = file.size
            with file.path.open("rb") as content:
                archive.addfile(entry, content)
    return target
