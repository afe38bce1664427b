"""Preparing a machine beside the installation of the packages: what is said, and the exit code."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from slurmpod.platform_profiles.slurm_versions import DEFAULT_SLURM
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.nodes import preparation
from slurmpod.rehearsal.nodes.errors import BakeFailed
from slurmpod.rehearsal.nodes.host_check import MissingPart
from tests.golden_files import ROOT

ROOT_USER = MissingPart("root", "only root may", "use sudo")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that this machine has all but the image."""
    monkeypatch.setattr(preparation, "missing_packages", list)
    monkeypatch.setattr(preparation, "missing", lambda _: [])
    monkeypatch.setattr(preparation, "raise_limits", lambda: ["raised a limit"])
    monkeypatch.setattr(preparation, "image_path", lambda *_: ROOT / "no image")
    monkeypatch.setattr(preparation, "bake", lambda *_: None)


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return re.sub(r" \d+ s\n", "\n", capsys.readouterr().err).splitlines()


def test_the_image_is_baked(capsys: pytest.CaptureFixture[str]) -> None:
    assert preparation.main() is ExitCode.OK
    assert said(capsys) == ["raised a limit", f"✓ node image with Slurm {DEFAULT_SLURM} baked"]


def test_a_bake_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise BakeFailed("no mirror")

    monkeypatch.setattr(preparation, "bake", fail)
    assert preparation.main() is ExitCode.FAILED
    assert said(capsys) == [
        "raised a limit",
        f"✗ node image with Slurm {DEFAULT_SLURM} baked",
        "no mirror",
    ]


def test_a_machine_that_lacks_something_bakes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preparation, "missing", lambda _: [ROOT_USER])
    assert preparation.main() is ExitCode.UNPREPARED
    assert said(capsys) == ["raised a limit", *str(ROOT_USER).splitlines()]


def test_the_end_of_what_apt_printed_is_shown_where_it_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: list[str], *, check: bool, **_: object) -> None:
        if check:
            raise subprocess.CalledProcessError(100, command, "E: no such package")

    monkeypatch.setattr(preparation, "missing_packages", lambda: ["tar"])
    monkeypatch.setattr(preparation, "_may_install", lambda: True)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(preparation, "missing", lambda _: [ROOT_USER])
    assert preparation.main() is ExitCode.UNPREPARED
    assert said(capsys)[:2] == ["E: no such package", "✗ Debian packages installed: tar"]


def test_only_the_standard_library_is_needed() -> None:
    module = "slurmpod.rehearsal.nodes.preparation"
    start = [sys.executable, "-S", "-c", f"import {module}"]  # -S: without installed packages
    assert subprocess.run(start, cwd=ROOT, capture_output=True).stderr == b""
