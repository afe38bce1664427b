"""The wheel of this checkout, as `pip wheel` makes it of the files that git knows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.golden_files import ROOT


def tracked(*places: str) -> list[str]:
    """Return the files that git tracks, or would, below some places."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *places]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\0") if name and (ROOT / name).exists()]


def make_wheel(folder: Path) -> Path:
    """Make the wheel in a copy of the checkout in `folder`."""
    names = "\0".join(tracked(".")).encode()
    copy = ["xargs", "-0", "cp", "-a", "--parents", "-t", str(folder)]
    subprocess.run(copy, input=names, cwd=ROOT, check=True)
    build = ["wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder / "dist"), str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, timeout=300)
    (made,) = (folder / "dist").glob("*.whl")
    return made
