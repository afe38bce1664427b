"""A user's file -> its text, or why it cannot be read."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path
from typing import BinaryIO

BYTES_LIMIT = 1_000_000
"""Size limit of a file; an environment is a page."""

WRITER_SECONDS = 10.0
"""Timeout for the first data of a pipe."""


class Unreadable(Exception):
    """Raised for a file that cannot be used, with the reason, the line and a fix."""

    def __init__(self, message: str, fix: str, line: int = 1) -> None:
        self.message = message
        self.fix = fix
        self.line = line
        super().__init__(message)


def read_text(path: Path, *, may_be_pipe: bool = False) -> str:
    """Return the text of a UTF-8 file.

    Anything else, such as a terminal, may never end; a pipe ends with its writer, and reading times
    out without one.

    Raises:
        Unreadable: The file is not there, not UTF-8, or too large.
    """
    try:
        mode = path.stat().st_mode
        if _may_not_end(mode, may_be_pipe=may_be_pipe):
            raise Unreadable("it is a device or a pipe, not a file", "name a text file")
        with _opened_pipe(path) if stat.S_ISFIFO(mode) else path.open("rb") as file:
            content = file.read(BYTES_LIMIT + 1)
    except OSError as error:
        raise Unreadable(
            f"cannot read the file: {error.strerror}",
            "give the path of an environment file, e.g. environments/dev.yaml",
        ) from error
    except ValueError as error:
        raise Unreadable("no path holds a NUL", "give the path of a file") from error
    if len(content) > BYTES_LIMIT:
        raise Unreadable("the file is larger than 1 MB", "give an environment file: a page of YAML")
    return _decoded(content)


def _opened_pipe(path: Path) -> BinaryIO:
    """Open a pipe that has a writer; an ordinary `open` waits for one forever."""
    pipe = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    if not waiting.poll(WRITER_SECONDS * 1000):
        pipe.close()
        message = f"it is a pipe that nothing wrote to for {WRITER_SECONDS:g} s"
        raise Unreadable(message, "name a text file")
    os.set_blocking(pipe.fileno(), True)
    return pipe


def _may_not_end(mode: int, *, may_be_pipe: bool) -> bool:
    is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or (is_pipe and not may_be_pipe)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before, byte = error.object[: error.start], error.object[error.start]
        line = before.count(b"\n") + 1
        message = f"the file is not UTF-8 text: line {line} has the byte 0x{byte:02X}"
        raise Unreadable(message, "save it as UTF-8", line) from error
