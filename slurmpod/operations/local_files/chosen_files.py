"""Which files of a folder are copied: what git would keep, and what ignore files do not exclude.

git decides about its own repositories: it knows what is tracked, and every place of ignore rules.
Elsewhere `.gitignore` is read by pathspec. `.slurmpodignore`, in the same syntax, holds in both.
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
    """Return the files of a folder that are copied, in order."""
    kept = kept_by_git(folder)
    if not kept:
        return sorted(_walk(folder, (OWN_IGNORE_FILE, GIT_IGNORE_FILE)))
    not_ignored = set(_walk(folder, (OWN_IGNORE_FILE,)))
    return sorted(not_ignored.intersection(kept))


def _walk(folder: Path, ignore_files: Sequence[str]) -> Iterator[Path]:
    """Yield the files that no ignore file excludes; what is below an excluded folder is excluded.

    A link to a file counts as the file; one to a folder is not followed, as it may lead in circles.
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
    """Return what the ignore files of one folder say; the first of them has the last word."""
    lines = [
        line
        for name in reversed(ignore_files)
        if (place / name).is_file()
        for line in (place / name).read_text(errors="replace").splitlines()
    ]
    return GitIgnoreSpec.from_lines(lines) if lines else None


def _is_ignored(path: Path, end: str, rules: dict[Path, GitIgnoreSpec]) -> bool:
    """Tell what the ignore file says that is nearest to a path and says anything about it."""
    for place in path.parents:
        if place in rules:
            said = rules[place].check_file(f"{path.relative_to(place).as_posix()}{end}").include
            if said is not None:
                return said
    return False
