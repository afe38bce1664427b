"""Files that are written whole or not at all, however the work on them ends."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file beside its place, then put it there: nobody sees it half written.

    A file that is there keeps its owner and mode, and a link leads where it led. What is no file,
    such as a pipe, is written to as it is. Raises OSError, which names `path`.
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
            with suppress(PermissionError):  # only root gives files away
                os.chown(temporary, before.st_uid, before.st_gid)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
