"""The wheel of this checkout, as build tools make it of the files that git knows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.checkout_copy import copy_checkout
from tests.golden_files import ROOT

UV = (sys.executable, "-m", "tools.uv")
"""pip does the same, and takes ten seconds of a processor for it (`scripts/setup.sh` has both)."""


def make_wheel(folder: Path) -> Path:
    """Make the wheel in a copy of the checkout in `folder`."""
    copy_checkout(folder)
    uv("build", "--quiet", "--wheel", "--out-dir", str(folder / "dist"), str(folder))
    (made,) = (folder / "dist").glob("*.whl")
    return made


def install(wheel: Path, folder: Path) -> Path:
    """Make a virtual environment with a wheel and what that requires; return its programs."""
    uv("venv", "--quiet", str(folder))
    uv("pip", "install", "--quiet", "--python", str(folder / "bin/python"), str(wheel))
    return folder / "bin"


def uv(*arguments: str) -> None:
    subprocess.run([*UV, *arguments], cwd=ROOT, check=True, timeout=400)
