from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def few_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs of the boot consist of two modules: every file is a place to be cut off."""
    package = tmp_path / "slurmpod_lifecycle"
    package.mkdir()
    for name in ("__init__", "machine"):
        (package / f"{name}.py").write_text(f"# {name}\n")
    monkeypatch.setattr("slurmpod_lifecycle.units.PACKAGE", package)
