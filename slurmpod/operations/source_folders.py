"""Folders of the user's machine that the job builds: their files, for the job's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from slurmpod.jobs.venv.sources import FOLDER, NoSource, Source, refuse
from slurmpod.operations.local_files.chosen_files import chosen_files
from slurmpod.operations.local_files.git_work_tree import commit_of

DIGITS = 12
"""Length of the digest in a copy's name, which distinguishes states of a folder."""


def with_copies(
    sources: Sequence[Source], file: Path, out: Path | None
) -> tuple[tuple[Source, ...], Mapping[str, bytes]]:
    """Return the sources, and the files of all folders by their path in the job's folder.

    Each state of a folder has its own path: copies there and on the cluster keep files that the
    folder has lost. Files in `out`, where the job is written, are not included. Raises
    InvalidEnvironment.
    """
    copied: list[Source] = []
    files: dict[str, bytes] = {}
    reasons: list[NoSource] = []
    for source in sources:
        folder = file.parent / source.folder
        content = _content(folder, out) if source.folder else {}
        if source.folder and not content:
            reasons.append(NoSource(f"{folder} has no file that git keeps", "name another folder"))
        place = f"{FOLDER}/{source.name}-{_digest(content)}"
        files |= {f"{place}/{name}": each for name, each in content.items()}
        copied.append(_told(source.copied_to(place), folder) if content else source)
    refuse(str(file), reasons)
    return tuple(copied), files


def _content(folder: Path, out: Path | None) -> dict[str, bytes]:
    chosen = [each for each in chosen_files(folder) if each.is_file() and not _lies_in(each, out)]
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in chosen}


def _lies_in(path: Path, out: Path | None) -> bool:
    return out is not None and path.resolve().is_relative_to(out.resolve())


def _digest(content: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, each in content.items():
        digest.update(f"{name} {len(each)}\n".encode() + each)
    return digest.hexdigest()[:DIGITS]


def _told(source: Source, folder: Path) -> Source:
    commit = commit_of(folder)
    return replace(source, told=f"{source.told} ({commit})") if commit else source
