"""Cloud assemblies of earlier syntheses, each under the digest of its inputs.

An assembly is a small index file with the digests of its files. Their content is stored once for
all assemblies: most of it is a layer of the CDK's that every environment with scripts has.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmpod.folders import home
from slurmpod.whole_file import write_whole

TAKEN = "templates taken from an earlier synthesis of the same files"
"""The message about it, wherever users see it."""

KEPT = 60
"""The most assemblies, about 200 KiB each without shared files: the oldest are deleted first."""

_MANIFEST = "manifest.json"
_ALWAYS = ("cdk.out", "validation-report.json")
_ARTIFACT = {
    "aws:cloudformation:stack",
    "cdk:asset-manifest",
    "cdk:feature-flag-report",
    "cdk:tree",
}
_ASSETS = "cdk:asset-manifest"


class _Unknown(Exception):
    """An assembly has contents unknown here, or messages that must be shown each time."""


@dataclass(frozen=True)
class KeptAssemblies:
    """A folder of assemblies, which several commands may read and write at the same time."""

    folder: Path

    @classmethod
    def of_home(cls) -> KeptAssemblies:
        """Return the assemblies of this user on this machine."""
        return cls(home() / "assemblies")

    def copy(self, key: str, assembly: Path) -> bool:
        """Write the files of a kept assembly to a folder; return whether there is one.

        The manifest is written last. A damaged assembly counts as missing.
        """
        try:
            contents = self._contents(key)
            for name, (data, mode) in contents.items():
                path = assembly / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod(mode)
        except (OSError, ValueError):
            return False
        return True

    def keep(self, key: str, assembly: Path) -> None:
        """Keep a synthesized assembly, unless it has findings or the disk is full."""
        with suppress(OSError, ValueError, KeyError, _Unknown):
            index = {name: self._store(assembly / name) for name in _files(assembly)}
            text = json.dumps(index)
            write_whole(self._index(key), f"{_digest(text.encode())}\n{text}")
            self._drop_oldest()

    def _contents(self, key: str) -> Mapping[str, tuple[bytes, int]]:
        """Read all files of an assembly; raises OSError, ValueError if it is incomplete."""
        path = self._index(key)
        index = _read_index(path)
        contents = {name: (self._read(digest), mode) for name, (digest, mode) in index.items()}
        os.utime(path)  # recently used ones stay
        return contents

    def _read(self, digest: str) -> bytes:
        data = self._object(digest).read_bytes()
        if _digest(data) != digest:
            raise ValueError(digest)
        return data

    def _store(self, path: Path) -> tuple[str, int]:
        """Store a file's content, unless it is there; return its digest and mode."""
        data = path.read_bytes()
        digest = _digest(data)
        stored = self._object(digest)
        stored.parent.mkdir(parents=True, exist_ok=True)
        if not stored.is_file() or stored.read_bytes() != data:
            write_whole(stored, data)
        return digest, path.stat().st_mode & 0o777

    def _drop_oldest(self) -> None:
        """Remove all but the last used assemblies, and the content that only those had."""
        indexes = sorted(self.folder.glob("*.json"), key=lambda each: each.stat().st_mtime_ns)
        if len(indexes) <= KEPT:
            return
        for index in indexes[:-KEPT]:
            index.unlink()
        needed = {digest for index in indexes[-KEPT:] for digest in _digests(index)}
        for stored in self._object("").iterdir():
            if stored.name not in needed:
                stored.unlink()

    def _index(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _object(self, digest: str) -> Path:
        return self.folder / "files" / digest


def _read_index(path: Path) -> dict[str, tuple[str, int]]:
    """Return digest and mode of each file of an assembly; raises ValueError for a damaged index."""
    digest, _, text = path.read_text(encoding="utf-8").partition("\n")
    if _digest(text.encode()) != digest:
        raise ValueError(path.name)
    index: dict[str, tuple[str, int]] = json.loads(text)
    return index


def _digests(path: Path) -> Iterator[str]:
    """Yield the digests of all files of an assembly; delete a damaged index."""
    try:
        index = _read_index(path)
    except ValueError:
        path.unlink()
        return
    yield from (digest for digest, _ in index.values())


def _files(assembly: Path) -> Iterator[str]:
    """Yield the paths of an assembly's files in its folder, which may have others, too.

    Raises:
        _Unknown: It has unknown content, or findings that users must see.
    """
    manifest = json.loads((assembly / _MANIFEST).read_bytes())
    if manifest.get("missing") or not _is_sound(assembly):
        raise _Unknown
    yield from (name for name in _ALWAYS if (assembly / name).is_file())
    for artifact in manifest["artifacts"].values():
        if artifact["type"] not in _ARTIFACT:
            raise _Unknown
        properties = artifact.get("properties", {})
        named = (properties.get("templateFile"), properties.get("file"))
        yield from (name for name in (*named, artifact.get("additionalMetadataFile")) if name)
        if artifact["type"] == _ASSETS:
            yield from _assets(assembly, properties["file"])
    yield _MANIFEST


def _assets(assembly: Path, file: str) -> Iterator[str]:
    """Yield the paths of a stack's assets; its template is an asset, too."""
    assets = json.loads((assembly / file).read_bytes())
    if assets.get("dockerImages"):
        raise _Unknown
    for asset in assets.get("files", {}).values():
        path = assembly / asset["source"]["path"]
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for each in found:
            if each.is_file() and not each.is_symlink():
                yield each.relative_to(assembly).as_posix()
            elif each.is_symlink() or not each.is_dir():
                raise _Unknown


def _is_sound(assembly: Path) -> bool:
    """Return whether the CDK's own validation, if there was one, found nothing."""
    report = assembly / "validation-report.json"
    if not report.is_file():
        return True
    plugins: list[dict[str, Any]] = json.loads(report.read_bytes())["pluginReports"]
    return all(each["conclusion"] == "success" for each in plugins)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
