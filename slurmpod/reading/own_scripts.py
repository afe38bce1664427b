"""Lifecycle scripts of the user: a folder -> its files in memory, or all problems.

All files in the folder are included unchanged, except those that tools create (`LEFT_OUT`). Rules
check whether they suit the environment.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from slurmpod.environment.environment import Environment
from slurmpod.problems import Problem, Severity
from slurmpod.reading.yaml_source import YamlSource
from slurmpod.value import Value

RULE = "OWN-001"
WRITTEN_AT = ("lifecycle", "scripts")

LEFT_OUT = frozenset({".git", "__pycache__", ".DS_Store"})
"""Files that tools create beside scripts; they would make every commit a new bundle."""

FILES_LIMIT = 1000
BYTES_LIMIT = 50_000_000
"""The function that copies the files to S3 has 512 MB for them, packed and unpacked, and every node
fetches all of them before it starts (Lambda developer guide, quotas: /tmp)."""

PATH_LIMIT = 900
"""Bytes of a path; S3 has 1024 for it and the folder of the bundle (S3 user guide, object keys)."""

SHOWN = 10
"""Maximum of reported problems of one folder; the rest are most likely the same."""


class OwnScripts(Value):
    """The user's scripts: every file in `folder` by its relative path, sorted."""

    folder: str
    files: Mapping[str, bytes]


class ScriptsReading(Value):
    """The content of a folder, or None and the problems."""

    scripts: OwnScripts | None
    problems: tuple[Problem, ...]


class Refused(Exception):
    """Raised for a file or folder that cannot be included, with the reason and a fix."""

    def __init__(self, message: str, fix: str) -> None:
        self.message = message
        self.fix = fix
        super().__init__(message)


class Folder(Value):
    """The files of a folder by their relative paths, sorted, and the problems of others."""

    files: Mapping[str, bytes]
    refused: tuple[Refused, ...]


def read_own_scripts(environment: Environment, source: YamlSource) -> ScriptsReading:
    """Read the folder that the environment names, relative to the file that names it."""
    written = environment.lifecycle.scripts
    if written is None:
        return ScriptsReading(None, ())
    where = source.where(WRITTEN_AT)
    found = read_folder(Path(where.file).parent / written, written)
    problems = tuple(
        Problem(RULE, Severity.ERROR, where, each.message, each.fix) for each in found.refused
    )
    return ScriptsReading(None if problems else OwnScripts(written, found.files), problems)


def read_folder(root: Path, written: str | None = None) -> Folder:
    """Read all files below a folder, which is `written` in the environment."""
    files: dict[str, bytes] = {}
    refused: list[Refused] = []
    try:
        for path in _paths(root, refused):
            files[path.relative_to(root).as_posix()] = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"cannot read {written or root}: {reason}"
        refused.append(Refused(message, "name a readable folder"))
    except Refused as reason:
        refused.append(reason)
    return Folder(dict(sorted(files.items())), tuple(refused[:SHOWN]))


def _paths(root: Path, refused: list[Refused]) -> list[Path]:
    """Return the files to read; reports those that cannot be included.

    Raises: Refused: The folder as a whole cannot be included. OSError: It cannot be listed.
    """
    if not root.is_dir():
        what = "is a file" if root.is_file() else "does not exist"
        raise Refused(f"{root} {what}", "name a folder, relative to this file")
    paths: list[Path] = []
    size = 0
    for path in _walk(root):
        try:
            size += _size(path, root)
            paths.append(path)
        except Refused as reason:
            refused.append(reason)
        if len(paths) + len(refused) > FILES_LIMIT or size > BYTES_LIMIT:
            raise Refused(
                f"{root} has more than {FILES_LIMIT} files or {BYTES_LIMIT // 1_000_000} MB",
                "keep only files that nodes need; data belongs in a bucket or an image",
            )
    if not paths and not refused:
        raise Refused(f"{root} has no files", "add your scripts")
    return paths


def _walk(root: Path) -> Iterator[Path]:
    """Yield all files below a folder in a fixed order, without following links."""
    folders = [root]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path.name in LEFT_OUT:
                continue
            if path.is_dir() and not path.is_symlink():
                folders.append(path)
            else:
                yield path


def _size(path: Path, root: Path) -> int:
    """Return a file's size in bytes, following links; raises Refused."""
    name = path.relative_to(root).as_posix()
    if not name.isprintable() or "\\" in name or len(name.encode(errors="replace")) > PATH_LIMIT:
        raise Refused(f"{name!r} cannot be the name of an object in S3", "rename the file")
    try:
        status = path.stat()
        leads_out = not path.resolve().is_relative_to(root.resolve())
        if stat.S_ISREG(status.st_mode):
            path.open("rb").close()
    except OSError as error:
        fix = "make the file readable, or remove it"
        raise Refused(f"cannot read {name}: {error.strerror}", fix) from error
    if leads_out:
        raise Refused(f"{name} leads out of the folder", "put a copy of the file in its place")
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{name} is not a file", "keep only regular files in the folder")
    return status.st_size
