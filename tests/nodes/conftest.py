"""Whole rehearsals as a user starts them, each with its own home and the shared node image."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from slurmpod.operations.deploy.kept_assemblies import KeptAssemblies
from slurmpod.platform_profiles.slurm_versions import SlurmVersion
from slurmpod.rehearsal.nodes.host_check import missing
from slurmpod.rehearsal.nodes.image import bake
from slurmpod.rehearsal.shell import Shell
from slurmpod.rehearsal.state import JOURNAL_FILE as JOURNAL
from slurmpod.rehearsal.state import images
from tests.search_depth import cases

collect_ignore = [] if cases(usual=0, deep=1) else ["test_variants.py"]
PROJECT = Path(__file__).parents[2]
JOURNAL_LINES = 40
PATIENCE_SECONDS = 180
"""A generous time limit, even for a busy machine."""
AS_IN_A_TERMINAL = ("/usr/bin/env", "--default-signal")
"""The process that runs the tests may ignore signals, as nohup does with SIGHUP."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the rehearsals' journals of the test's time with a failure."""
    report = yield
    if report.failed:
        factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
        for journal in sorted(factory.getbasetemp().rglob(JOURNAL)):
            if journal.stat().st_mtime >= call.start:
                report.sections.append((str(journal), _end(journal)))
    return report


@pytest.fixture(scope="session")
def image() -> Path:
    lacks = missing(machine_count=8)
    if lacks:
        reason = "; ".join(f"{lack.what} is missing ({lack.fix})" for lack in lacks)
        if os.environ.get("CI"):
            pytest.fail(f"machines cannot be made in CI: {reason}")
        pytest.skip(f"machines cannot be made here: {reason}")
    return bake(print)


@pytest.fixture(scope="session")
def older_image(image: Path) -> Path:
    """The node image with the Slurm of `ami-2026-01` and before; `image` is the default's."""
    return bake(print, slurm=SlurmVersion.V24_11)


@pytest.fixture(scope="session")
def newer_image(image: Path) -> Path:
    """The node image with the Slurm of `ami-2026-07`."""
    return bake(print, slurm=SlurmVersion.V26_05)


@dataclass(frozen=True)
class Workplace:
    """A checkout and a home for rehearsals, and a user's commands there."""

    home: Path
    project: Path = PROJECT

    @property
    def variables(self) -> Mapping[str, str]:
        return {
            **os.environ,
            "SLURMPOD_HOME": str(self.home),
            "PYTHONPATH": str(self.project),
            "NO_COLOR": "1",
        }

    def start(self, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        program = (sys.executable, "-P", "-c", "from slurmpod.cli.main import main; main()")
        return subprocess.Popen(
            [*AS_IN_A_TERMINAL, *program, *arguments],
            cwd=cwd or self.project,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, cwd: Path | None = None, seconds: int = 300
    ) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments, cwd=cwd) as process:
            stdout, stderr = process.communicate(timeout=seconds)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def rehearsals(self) -> list[Path]:
        folder = self.home / "rehearsals"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def processes(self) -> list[str]:
        """Return the command lines of all processes that use this home."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command_line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if str(self.home) in command_line:
                found.append(command_line)
        return found


@pytest.fixture
def workplace(image: Path, tmp_path: Path) -> Workplace:
    return make_workplace(tmp_path)


def make_workplace(folder: Path, project: Path = PROJECT) -> Workplace:
    home = folder / "home"
    home.mkdir()
    assemblies = KeptAssemblies.of_home().folder
    assemblies.mkdir(parents=True, exist_ok=True)
    for shared in (images(), assemblies):
        (home / shared.name).symlink_to(shared)
    return Workplace(home, project)


def node_shell(workplace: Workplace, shown: Any, group: str, user: str = "root") -> Shell:
    """Return a session on a group's first node of the only rehearsal, which printed `shown`.

    The command line opens the same one, but takes longer to start than most commands.
    """
    (folder,) = workplace.rehearsals()
    address = next(node["private_ip"] for node in shown["nodes"] if node["group"] == group)
    return Shell(folder, f"ip-{address.replace('.', '-')}", user)


def wait_until(
    condition: Callable[[], bool], what: str, *, seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait for a condition, with a pause between two checks."""
    began = asked = time.monotonic()
    while not condition():
        assert time.monotonic() < began + seconds, f"timed out: {what}"
        pause(began, asked)
        asked = time.monotonic()


def pause(began: float, asked: float) -> None:
    """Sleep for as long as a check takes, or a tenth of the time since `began`.

    Most checks are commands on nodes: they use the processor that the nodes need, too.
    """
    now = time.monotonic()
    time.sleep(min(max(0.05, now - asked, (now - began) / 10), 1.0))


def _end(journal: Path) -> str:
    return "\n".join(journal.read_text().splitlines()[-JOURNAL_LINES:])
