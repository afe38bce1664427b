"""The layers of DESIGN: what may import what, read from the source without running it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden_files import ROOT

PURE = (
    *("slurmpod/environment", "slurmpod/resolve", "slurmpod/rules", "slurmpod/jobs"),
    *("slurmpod/bundle", "stacks"),
)
"""What computes: the same YAML must give the same bytes, today and tomorrow, here and there."""

IMPURE_MODULES = {
    *("datetime", "getpass", "http", "os", "platform", "random", "secrets", "socket"),
    *("subprocess", "time", "urllib", "uuid"),
}
"""Modules for the clock, the environment, the network, other processes and random numbers."""


def python_files(*places: str) -> list[Path]:
    files: list[Path] = []
    for place in places:
        path = ROOT / place
        files += [path] if path.is_file() else sorted(path.rglob("*.py"))
    assert files
    return files


def imported_modules(file: Path) -> Iterator[tuple[int, str]]:
    """Return line and top-level name of every absolute import, inner ones too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module.partition(".")[0]


def test_the_contracts_of_the_import_linter_are_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("file", python_files(*PURE), ids=lambda file: str(file.relative_to(ROOT)))
def test_what_computes_reads_no_clock_environment_or_network(file: Path) -> None:
    impure = [
        f"line {line}: {module}"
        for line, module in imported_modules(file)
        if module in IMPURE_MODULES
    ]
    assert impure == []


@pytest.mark.parametrize("folder", ["slurmpod", "stacks", "benchmarks", "tests"])
def test_the_stacks_have_one_name(folder: str) -> None:
    """`stacks/` is imported as `slurmpod_cdk`, as from the wheel; both would be two packages."""
    strays = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in python_files(folder)
        for line, module in imported_modules(file)
        if module == "stacks"
    ]
    assert strays == []
