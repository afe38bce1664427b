"""The newest packages with data that AWS publishes, in a temporary folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGES = ("botocore", "cfn-lint")


@contextmanager
def newest_packages() -> Iterator[Path]:
    """Fetch the packages without dependencies; raise CalledProcessError on failure."""
    with TemporaryDirectory(prefix="slurmpod-facts-") as folder:
        install = [sys.executable, "-m", "tools.uv", "pip", "install", "--quiet", "--upgrade"]
        subprocess.run([*install, "--no-deps", "--target", folder, *PACKAGES], check=True)
        yield Path(folder)
