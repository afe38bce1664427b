"""Atomic writes: a file is replaced completely or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a temporary file next to the target and rename it: no one sees it half written.

    An existing file keeps its owner and mode, and links are followed. Anything but a regular file,
    such as a pipe, is written to directly. Raises OSError, which names `path`.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target, data)
    except OSError as error:
        error.filename = str(path)
        raise


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        if target.exists():
            before = target.stat()
            shutil.copymode(target, temporary)
            with suppress(PermissionError):  # only root may change owners
                os.chown(temporary, before.st_uid, before.st_gid)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
