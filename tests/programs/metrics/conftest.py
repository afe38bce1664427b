"""The real promtool, of this computer or of the node image."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

import pytest

from slurmpod.rehearsal.nodes.image import image_command, image_path


@pytest.fixture(scope="session")
def promtool() -> Sequence[str]:
    """Return the command; without promtool, tests are skipped, but not in CI."""
    if installed := shutil.which("promtool"):
        return [installed]
    try:
        return image_command(image_path(), "promtool")
    except FileNotFoundError as error:
        reason = f"{error}; 'slurmpod prepare' makes one, or: apt-get install prometheus"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
