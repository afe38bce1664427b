"""The digest of all inputs of a cloud assembly: equal digests mean equal assemblies.

The CDK reads more than an environment: unknown inputs have no digest, and are synthesized again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from slurmpod.folders import app_folder, folder
from slurmpod.resolve import Resolved

PACKAGES = ("slurmpod", "slurmpod_cdk", "slurmpod_lifecycle")
FOLDERS = ("functions", "lifecycle_scripts", "templates")

CHOICES = ("env", "confirm")
"""Context that selects environments and confirms losses: it does not affect stacks."""

OVERFLOW = "CONTEXT_OVERFLOW_LOCATION_ENV"
"""The variable with the name of a context file, for large contexts."""

OF_THE_CDK = ("CDK_", "AWS_CDK_", "JSII_")
"""Prefixes of variables that the CDK and jsii may read."""

WITHOUT_EFFECT = frozenset(
    {
        "CDK_CONTEXT_JSON",  # its content is part of the digest
        "CDK_DEFAULT_ACCOUNT",  # stacks are in the account and the Region that the file names
        "CDK_DEFAULT_REGION",
        "CDK_ERROR_FILE",
        "CDK_HOME",
        "CDK_OUTDIR",
        "CDK_PERF_COUNTERS_FILE",
    }
)


def assembly_key(
    environments: Sequence[Resolved], context: Mapping[str, Any], variables: Mapping[str, str]
) -> str | None:
    """Return the digest for an assembly of these environments, or None if there can be none.

    The resolved data holds the content of all files that an environment names. The record of the
    deployment distinguishes explicit values from defaults.
    """
    if OVERFLOW in variables:
        return None
    ingredients = (
        environments,
        [each.environment.model_dump(mode="json", exclude_unset=True) for each in environments],
        sorted((name, value) for name, value in context.items() if name not in CHOICES),
        sorted(each for each in variables.items() if _has_effect(each[0])),
        sys.version,
        sorted(_distributions(sys.path)),
        digest_of_files(_code()),
    )
    try:
        return hashlib.sha256(to_json(ingredients, bytes_mode="base64")).hexdigest()
    except PydanticSerializationError:
        return None


def _has_effect(name: str) -> bool:
    return name.startswith(OF_THE_CDK) and name not in WITHOUT_EFFECT


def _distributions(search_path: Iterable[str]) -> Iterator[str]:
    """Yield names and versions of all installed packages, from the folders beside them."""
    for place in map(Path, search_path):
        if place.is_dir():
            yield from (each.name for each in place.iterdir() if each.suffix == ".dist-info")


def _code() -> Iterator[Path]:
    """Yield the folders that make assemblies, and the app."""
    for name in PACKAGES:
        package = find_spec(name)
        if package and package.origin:
            yield Path(package.origin).resolve().parent
    yield from map(folder, FOLDERS)
    yield app_folder() / "app.py"


def digest_of_files(places: Iterable[Path]) -> str:
    """Return the digest of files and folders, by relative paths."""
    found = hashlib.sha256()
    for place in places:
        root = os.fspath(place)
        for path in _files_below(root) if place.is_dir() else [root]:
            content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            found.update(f"{path.removeprefix(root)}\0{content}\n".encode())
    return found.hexdigest()


def _files_below(place: str) -> Iterator[str]:
    with os.scandir(place) as found:
        entries = sorted(found, key=lambda each: each.name)
    for entry in entries:
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files_below(entry.path)
        else:
            yield entry.path
