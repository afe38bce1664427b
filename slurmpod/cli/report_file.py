"""The file of a report: checking that it may be written, and writing it atomically."""

from __future__ import annotations

import os
from pathlib import Path

from slurmpod.problems import WorkFailed
from slurmpod.whole_file import write_whole

OURS = b'<meta name="generator" content="slurmpod report">'
"""Identifies a page as a slurmpod report, which may be replaced."""

HEAD_BYTES = 1024


def require_writable(path: Path) -> None:
    """Check, before any work, that a report can be written there.

    Raises:
        WorkFailed: Another file is there, or the folder is not writable.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise WorkFailed(f"{path} is a folder: name a file, such as {path / 'report.html'}")
    if not folder.is_dir():
        raise WorkFailed(f"{path}: the folder {folder} does not exist")
    if path.exists() and not _is_ours(path):
        raise WorkFailed(f"{path} exists and is not a slurmpod report: choose another file")
    if not os.access(folder, os.W_OK):
        raise WorkFailed(f"{path} cannot be written: no permission to write to {folder}")


def write_page(path: Path, page: str) -> None:
    """Write a page atomically; raises WorkFailed."""
    try:
        write_whole(path, page)
    except OSError as error:
        raise WorkFailed(f"{path} cannot be written: {error.strerror}") from error


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return OURS in file.read(HEAD_BYTES)
    except OSError as error:
        raise WorkFailed(f"{path} cannot be read: {error.strerror}") from error
