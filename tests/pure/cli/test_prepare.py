from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from slurmpod.cli import prepare
from slurmpod.operations.deploy.cdk import CdkFailed
from slurmpod.problems import ExitCode
from slurmpod.rehearsal.nodes import preparation
from slurmpod.rehearsal.nodes.additions import Additions, deb_file, named_additions
from slurmpod.rehearsal.nodes.errors import BakeFailed


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was installed on a machine that lacks the CDK's command line alone."""
    done: list[str] = []
    monkeypatch.setattr(prepare, "cdk_script", lambda: Path("cdk") if done else None)
    monkeypatch.setattr(prepare, "install_cdk", lambda: done.append("cdk"))
    monkeypatch.setattr(preparation, "missing_packages", list)
    monkeypatch.setattr(preparation, "missing", lambda _: [])
    monkeypatch.setattr(preparation, "raise_limits", lambda: ["raised a limit"])
    monkeypatch.setattr(preparation, "baked_image", lambda *_: None)
    return done


def options(*arguments: str) -> Namespace:
    parser = ArgumentParser()
    prepare.add_arguments(parser)
    return parser.parse_args(arguments)


def test_the_cdk_is_installed_where_it_is_missing(installed: list[str]) -> None:
    for _ in range(2):
        assert prepare.run(options()) is ExitCode.OK
    assert installed == ["cdk"]


@pytest.mark.usefixtures("installed")
def test_a_limit_that_was_raised_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare.run(options()) is ExitCode.OK
    assert "raised a limit\n" in capsys.readouterr().err


def test_a_cdk_that_cannot_be_installed_is_told_with_another_way(
    installed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> None:
        raise CdkFailed("npm cannot install it")

    monkeypatch.setattr(prepare, "install_cdk", refused)
    assert prepare.run(options()) is ExitCode.UNPREPARED
    said = capsys.readouterr().err
    assert "npm cannot install it" in said
    assert "npm install aws-cdk@2" in said


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--with", "git"), "must be used together"),
        (("--name", "aws"), "must be used together"),
        (("--with", "git", "--name", "../aws"), "'../aws' is not an image name"),
        (("--with", "git,vim", "--name", "aws"), "'git,vim' is not a Debian package name"),
        (("--from-deb", "/none.deb", "--name", "aws"), "/none.deb: No such file"),
    ],
)
def test_an_image_that_cannot_be_named_or_made_is_refused(
    installed: list[str],
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    reason: str,
) -> None:
    assert prepare.run(options(*arguments)) is ExitCode.USAGE
    assert reason in capsys.readouterr().err


def test_a_name_stands_for_what_was_added(
    installed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURMPOD_HOME", str(tmp_path))
    deb = tmp_path / "tool.deb"
    deb.write_bytes(b"deb")
    more = ("--with", "vim", "git", "--pip", "ansible==10.7.0", "--from-deb", str(deb))
    assert prepare.run(options(*more, "--name", "aws")) is ExitCode.OK
    expected = Additions(("git", "vim"), ("ansible==10.7.0",), (deb_file(deb),))
    assert named_additions("aws") == expected
    with pytest.raises(BakeFailed, match="no image is called 'other'; images: aws"):
        named_additions("other")
