"""The files of a folder to copy: those that git would keep and no ignore file excludes.

git decides about its own repositories: it knows tracked files, and all sources of ignore rules.
Elsewhere pathspec reads `.gitignore`. `.slurmpodignore`, in the same syntax, applies to both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from slurmpod.operations.local_files.git_work_tree import kept_by_git

OWN_IGNORE_FILE = ".slurmpodignore"
GIT_IGNORE_FILE = ".gitignore"
LEFT_OUT = frozenset({"__pycache__", ".git"})


def chosen_files(folder: Path) -> list[Path]:
    """Return the files of a folder to copy, in order."""
    kept = kept_by_git(folder)
    if not kept:
        return sorted(_walk(folder, (OWN_IGNORE_FILE, GIT_IGNORE_FILE)))
    not_ignored = set(_walk(folder, (OWN_IGNORE_FILE,)))
    return sorted(not_ignored.intersection(kept))


def _walk(folder: Path, ignore_files: Sequence[str]) -> Iterator[Path]:
    """Yield the files that no ignore file excludes, without those in excluded folders.

    A link to a file counts as the file; one to a folder is not followed, because of loops.
    """
    rules: dict[Path, GitIgnoreSpec] = {}
    for here, folders, files in os.walk(folder):
        place = Path(here)
        if spec := _rules_of(place, ignore_files):
            rules[place] = spec
        folders[:] = [
            each
            for each in folders
            if each not in LEFT_OUT and not _is_ignored(place / each, "/", rules)
        ]
        for name in files:
            path = place / name
            if path.is_file() and not _is_ignored(path, "", rules):
                yield path


def _rules_of(place: Path, ignore_files: Sequence[str]) -> GitIgnoreSpec | None:
    """Return the ignore files that apply to one folder; the first of them takes precedence."""
    lines = [
        line
        for name in reversed(ignore_files)
        if (place / name).is_file()
        for line in (place / name).read_text(errors="replace").splitlines()
    ]
    return GitIgnoreSpec.from_lines(lines) if lines else None


def _is_ignored(path: Path, end: str, rules: dict[Path, GitIgnoreSpec]) -> bool:
    """Return the verdict of the nearest ignore file that matches a path."""
    for place in path.parents:
        if place in rules:
            said = rules[place].check_file(f"{path.relative_to(place).as_posix()}{end}").include
            if said is not None:
                return said
    return False
