"""Descriptions of AWS services from botocore's files, read once per process.

botocore keeps it for each session, and moto makes a session for each of its services: reading it
anew was a third of all that an embedded AWS did.
"""

from __future__ import annotations

import functools
from pathlib import PurePath
from typing import Any

from botocore.loaders import JSONFileLoader, Loader

_CHANGED_BY_CLIENTS = "service-2"
"""The description of a service's operations: the client of S3 takes the bucket out of its paths."""


class _ReadOnce(JSONFileLoader):
    """Gives every session of this process the same objects, which sessions only look at."""

    def load_file(self, file_path: str) -> Any:
        """Return the content of a JSON file, None when there is none; `file_path` lacks .json."""
        if PurePath(file_path).name == _CHANGED_BY_CLIENTS:
            return super().load_file(file_path)
        return _content(file_path)


def read_once() -> None:
    """Let all sessions that are made from now on share what they read; may be repeated."""
    Loader.FILE_LOADER_CLASS = _ReadOnce


@functools.cache
def _content(file_path: str) -> Any:
    return JSONFileLoader().load_file(file_path)
