"""The wheel of this checkout, as `pip wheel` makes it of the files that git knows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.checkout_copy import copy_checkout


def make_wheel(folder: Path) -> Path:
    """Make the wheel in a copy of the checkout in `folder`."""
    copy_checkout(folder)
    build = ["wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder / "dist"), str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, timeout=300)
    (made,) = (folder / "dist").glob("*.whl")
    return made
