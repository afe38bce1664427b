"""The lifecycle scripts are no package of the project: nodes run them from their own folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "lifecycle_scripts"
sys.path.insert(0, str(SCRIPTS))


@pytest.fixture
def few_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs of the boot consist of two modules: every file is a place to be cut off."""
    package = tmp_path / "slurmpod_lifecycle"
    package.mkdir()
    for name in ("__init__", "machine"):
        (package / f"{name}.py").write_text(f"# {name}\n")
    monkeypatch.setattr("slurmpod_lifecycle.boot_programs.PACKAGE", package)
