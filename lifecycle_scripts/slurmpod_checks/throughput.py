"""The throughput of a folder: files written through to the disk and read back."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MIB = 1024 * 1024
FILES = 4
MIB_PER_FILE = 1024
PART_OF_FREE = 8
"""The part of the free space that all files together may take."""

Work = Callable[[Path, int, int], None]


def measured(folder: str) -> tuple[float, float]:
    """Return the MiB/s of writing and of reading; raises OSError if that fails."""
    status = os.statvfs(folder)
    fits = status.f_bavail * status.f_frsize // (PART_OF_FREE * FILES)
    size = max(MIB, min(MIB_PER_FILE * MIB, fits) // MIB * MIB)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".slurmpod-check-") as own:
        files = [Path(own) / str(number) for number in range(FILES)]
        return _rate(write, files, size), _rate(read, files, size)


def write(file: Path, block: int, size: int) -> None:
    """Write a file through to the disk and drop it from this node's page cache."""
    data = os.urandom(block)  # compressible data would look fast
    with file.open("wb", buffering=0) as opened:
        for start in range(0, size, block):
            opened.write(data[: size - start])
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(file: Path, block: int, size: int) -> None:
    """Read a whole file."""
    with file.open("rb", buffering=0) as opened:
        found = 0
        while data := opened.read(block):
            found += len(data)
    if found != size:
        raise OSError(f"{file} has {found} of {size} bytes")


def seconds_of(work: Work, files: list[Path], block: int, size: int) -> float:
    """Return how long the function takes for all files in parallel."""
    start = time.perf_counter()
    with ThreadPoolExecutor(len(files)) as pool:
        for done in [pool.submit(work, file, block, size) for file in files]:
            done.result()
    return time.perf_counter() - start


def _rate(work: Work, files: list[Path], size: int) -> float:
    return len(files) * size / MIB / seconds_of(work, files, MIB, size)
