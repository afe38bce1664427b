"""`scripts/setup.sh`, with stand-ins for Python and npm: what it does when is the subject."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import venv
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.checkout_copy import tracked
from tests.golden_files import ROOT
from tests.nodes.conftest import wait_until

PYTHON = """#!/bin/sh
echo "$*" >>calls
case "$*" in
    *"$HANGS"*) touch hangs; trap 'exit 1' INT; while :; do sleep 0.1; done ;; # as pip
    *"$FAILS"*) echo "no such host"; exit 1 ;;
    "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    "--version") echo "Python 3.11.0" ;;
esac
"""
NPM = """#!/bin/sh
echo "npm $*" >>calls
mkdir -p node_modules/.bin
touch node_modules/.bin/cdk
chmod +x node_modules/.bin/cdk
"""
NOTHING = "nothing of the kind"
WITH_UV = "-m tools.uv pip install --requirement requirements-dev.txt"
WITH_PIP = "-m pip install --quiet --requirement requirements-dev.txt"


@dataclass
class Checkout:
    """A checkout in which nothing is installed."""

    folder: Path
    programs: Path
    calls_before: int = field(default=0)

    def start(self, *, fails: str = NOTHING, hangs: str = NOTHING) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["/usr/bin/env", "--default-signal", self.folder / "scripts/setup.sh"],
            env={
                "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
                "FAILS": fails,
                "HANGS": hangs,
            },
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def set_up(self, *, fails: str = NOTHING) -> tuple[int, str]:
        """Return the exit code and what was said."""
        process = self.start(fails=fails)
        said = process.communicate()[1]
        return process.returncode, said

    def new_calls(self) -> list[str]:
        """Return what was called since the last look, but questions about Python itself."""
        calls = (self.folder / "calls").read_text().splitlines()
        new, self.calls_before = calls[self.calls_before :], len(calls)
        return [each for each in new if not each.startswith(("--version", "-c "))]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder = tmp_path / "checkout"
    needed = ("scripts/setup.sh", "tools/uv.py", "requirements-dev.txt", "pyproject.toml")
    for name in tracked(*needed, "package-lock.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("python3", PYTHON), ("npm", NPM)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return Checkout(folder, programs)


def test_all_is_installed_once(checkout: Checkout) -> None:
    code, said = checkout.set_up()
    assert code == 0
    assert [line.rsplit(" ", 2)[0] for line in said.splitlines()] == [
        "✓ Python packages installed",
        "✓ Python packages compiled",
        "✓ CDK command line installed",
    ]
    calls = checkout.new_calls()
    assert WITH_UV in calls
    assert WITH_PIP not in calls
    assert checkout.set_up() == (0, "")
    assert checkout.new_calls() == []


def test_other_pins_are_installed_into_what_is_there(checkout: Checkout) -> None:
    checkout.set_up()
    checkout.new_calls()
    with (checkout.folder / "requirements-dev.txt").open("a") as pins:
        pins.write("more==1\n")
    assert checkout.set_up()[0] == 0
    calls = checkout.new_calls()
    assert WITH_UV in calls
    assert "-m venv .venv" not in calls


def test_a_step_that_fails_shows_the_end_of_its_log_and_a_fix(checkout: Checkout) -> None:
    code, said = checkout.set_up(fails="requirements-dev.txt")
    assert code == 4
    assert said.splitlines()[1:] == [
        "✗ Python packages installed: failed; build/setup/packages.log ends with:",
        "no such host",
        "no such host",
        "setup: the installation is incomplete",
        "  fix: check that this machine reaches the Python package index, and repeat",
    ]
    assert not any(call.startswith("npm") for call in checkout.new_calls())
    assert checkout.set_up()[0] == 0
    assert "-m venv .venv" not in checkout.new_calls()


def test_where_uv_cannot_pip_installs(checkout: Checkout) -> None:
    code, said = checkout.set_up(fails="tools.uv")
    assert code == 0
    assert "pip does, in a minute or two" in said.splitlines()[0]
    assert WITH_PIP in checkout.new_calls()


def test_what_was_interrupted_is_done_by_the_next_run(checkout: Checkout) -> None:
    process = checkout.start(hangs="tools.uv")
    wait_until((checkout.folder / "hangs").exists, "the installation")
    os.killpg(process.pid, signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert WITH_PIP not in checkout.new_calls()
    assert checkout.set_up()[0] == 0
    assert WITH_UV in checkout.new_calls()


def test_packages_go_beside_the_python_that_runs_uv(tmp_path: Path) -> None:
    """Whoever has activated another environment finds nothing new there."""
    venv.create(tmp_path / "theirs")
    listed = subprocess.run(
        [sys.executable, "-m", "tools.uv", "pip", "list"],
        cwd=ROOT,
        env={**os.environ, "VIRTUAL_ENV": str(tmp_path / "theirs")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pytest-xdist" in listed.stdout
