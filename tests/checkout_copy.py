"""Copies of this checkout: the files that git tracks or would track, without tools' output."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.golden_files import ROOT


def tracked(*places: str) -> list[str]:
    """Return the files that git tracks or would track, below some paths."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *places]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\0") if name and (ROOT / name).exists()]


def copy_checkout(folder: Path) -> None:
    """Copy the checkout into `folder`, with Python's bytecode for it.

    So only files that a test changes in the copy are compiled again. Other processes may write
    bytecode meanwhile: until it is complete, it has another suffix.
    """
    names = tracked(".")
    folders = {(ROOT / name).parent / "__pycache__" for name in names if name.endswith(".py")}
    whole = (str(file.relative_to(ROOT)) for each in folders for file in each.glob("*.pyc"))
    folder.mkdir(exist_ok=True)
    copy = ["xargs", "-0", "cp", "-a", "--parents", "-t", str(folder)]
    subprocess.run(copy, input="\0".join([*names, *whole]).encode(), cwd=ROOT, check=True)
