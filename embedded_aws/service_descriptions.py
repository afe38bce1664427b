"""botocore's service descriptions, shared by all sessions: each is found and read once.

botocore caches them per session, and moto creates a session for each of its services: reading them
again took a third of the embedded AWS's time, and finding them a tenth of the rest.
"""

from __future__ import annotations

import functools
from pathlib import PurePath
from typing import Any

from botocore.loaders import JSONFileLoader, Loader

_CHANGED_BY_CLIENTS = "s3"
"""The service whose client modifies its description: it removes the bucket from the paths."""

_find_services = Loader.list_available_services


def read_once() -> None:
    """Let all new sessions share the files they read; idempotent."""
    Loader.FILE_LOADER_CLASS = _ReadOnce
    Loader.list_available_services = _services  # type: ignore[assignment,method-assign]


class _ReadOnce(JSONFileLoader):
    """Returns the same objects to every session of this process; sessions only read them."""

    def load_file(self, file_path: str) -> Any:
        """Return the content of a JSON file, or None if it is missing; `file_path` lacks .json."""
        if _CHANGED_BY_CLIENTS in PurePath(file_path).parts:
            return super().load_file(file_path)
        return _content(file_path)


@functools.cache
def _content(file_path: str) -> Any:
    return JSONFileLoader().load_file(file_path)


def _services(loader: Loader, type_name: str) -> list[str]:
    """Return the services that have a file of this type; botocore searches 400 folders."""
    return list(_services_in(tuple(loader.search_paths), type_name))


@functools.cache
def _services_in(search_paths: tuple[str, ...], type_name: str) -> tuple[str, ...]:
    loader = Loader(include_default_search_paths=False)
    loader.search_paths.extend(search_paths)
    return tuple(_find_services(loader, type_name))
