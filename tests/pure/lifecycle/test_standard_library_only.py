"""Nodes have Python 3.10 and nothing else: what the lifecycle scripts may rely on."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.golden_files import ROOT

SCRIPTS = ROOT / "lifecycle_scripts"
MODULES = sorted(SCRIPTS.rglob("*.py"))
OLDEST_PYTHON = (3, 10)


def imported_by(tree: ast.Module) -> set[str]:
    """Return the top-level names of all modules that are imported, also only for types."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SCRIPTS)))
def test_a_script_needs_nothing_but_the_oldest_supported_python(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST_PYTHON)
    ours = {"slurmpod_checks", "slurmpod_exporter", "slurmpod_health", "slurmpod_lifecycle"}
    for copied in {"slurmpod_exporter", "slurmpod_health"} & set(path.parts):
        ours = {copied}  # it is copied elsewhere, without the others
    if "slurmpod_checks" in path.parts:
        ours = {"slurmpod_checks", "slurmpod_health", "slurmpod_lifecycle"}  # of it one module
    assert imported_by(tree) <= sys.stdlib_module_names | ours
