"""Folders of the user's machine that the job builds: their files, for the job's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from slurmpod.jobs.venv.sources import FOLDER, NoSource, Source, refuse
from slurmpod.operations.local_files.chosen_files import chosen_files


def files_of(sources: Sequence[Source], file: Path, out: Path | None) -> Mapping[str, bytes]:
    """Return the files of all folders that a file names, by their place below the job's folder.

    What lies in `out`, where the job is written, is none of them. Raises InvalidEnvironment.
    """
    files: dict[str, bytes] = {}
    reasons: list[NoSource] = []
    for source in sources:
        if not source.folder:
            continue
        folder = file.parent / source.folder
        chosen = [each for each in chosen_files(folder) if not _lies_in(each, out)]
        if not chosen:
            reasons.append(NoSource(f"{folder} has no files that git keeps", "add what it builds"))
        for path in chosen:
            place = f"{FOLDER}/{source.name}/{path.relative_to(folder).as_posix()}"
            files[place] = path.read_bytes()
    refuse(str(file), reasons)
    return files


def _lies_in(path: Path, out: Path | None) -> bool:
    return out is not None and path.resolve().is_relative_to(out.resolve())
