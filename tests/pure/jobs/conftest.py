"""A node that is this machine, and a job whose place is a folder of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pure.jobs.local_shell import LocalShell


@pytest.fixture
def shell(tmp_path: Path) -> LocalShell:
    return LocalShell(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A job whose place on the cluster is a folder of this machine."""
    made = tmp_path / "mine"
    (made / "package").mkdir(parents=True)
    place = tmp_path / "fsx" / "mine"
    (made / "mine.sbatch").write_text(f"#!/bin/bash\n#SBATCH --chdir={place}\nhostname\n")
    (made / "package" / "x.py").write_text("x = 1\n")
    (made / "__pycache__").mkdir()
    (made / "__pycache__" / "x.pyc").touch()
    return made
