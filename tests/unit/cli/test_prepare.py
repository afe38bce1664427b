from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from slurmpod.cli import prepare
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.cdk import CdkFailed


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was installed on a machine that lacks the CDK's command line alone."""
    done: list[str] = []
    monkeypatch.setattr(prepare, "cdk_script", lambda: Path("cdk") if done else None)
    monkeypatch.setattr(prepare, "install_cdk", lambda: done.append("cdk"))
    monkeypatch.setattr(prepare, "missing_packages", list)
    monkeypatch.setattr(prepare, "missing", lambda _: ())
    monkeypatch.setattr(prepare, "raise_limits", lambda: ["raised a limit"])
    monkeypatch.setattr(prepare, "baked_image", lambda _: None)
    return done


def test_the_cdk_is_installed_where_it_is_missing(installed: list[str]) -> None:
    for _ in range(2):
        assert prepare.run(Namespace()) is ExitCode.OK
    assert installed == ["cdk"]


@pytest.mark.usefixtures("installed")
def test_a_limit_that_was_raised_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare.run(Namespace()) is ExitCode.OK
    assert "raised a limit\n" in capsys.readouterr().err


def test_a_cdk_that_cannot_be_installed_is_told_with_another_way(
    installed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> None:
        raise CdkFailed("npm cannot install it")

    monkeypatch.setattr(prepare, "install_cdk", refused)
    assert prepare.run(Namespace()) is ExitCode.UNPREPARED
    said = capsys.readouterr().err
    assert "npm cannot install it" in said
    assert "npm install aws-cdk@2" in said
