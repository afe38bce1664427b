"""What `slurmpod lifecycle run` asks before it runs anything, and how it ends."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmpod.aws import session_plugin
from slurmpod.cli import lifecycle, main
from slurmpod.problems import ExitCode
from tests.pure.operations.test_lifecycle_report import line
from tests.pure.operations.test_lifecycle_run import Answers, Cluster
from tests.sound_environment import SOUND

TEXT = SOUND.replace("workers", "cpu")
GOOD = {"1": line("ip-1"), "3": line("ip-3")}
BAD = {"1": line("ip-1"), "3": line("ip-3", failure="no way")}


class Command:
    """The command on an environment whose nodes answer as they are told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.sessions = Answers(**GOOD)
        self.file = folder / "dev.yaml"
        self.file.write_text(TEXT)
        plugin = folder / session_plugin.NAME
        plugin.touch(mode=0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(lifecycle, "clients_of", lambda _: None)
        account = SimpleNamespace(id=lambda: "123456789012")
        monkeypatch.setattr(lifecycle, "AwsAccount", lambda _: account)
        monkeypatch.setattr(lifecycle, "ClusterView", lambda _: Cluster())
        monkeypatch.setattr(lifecycle, "NodeSessions", lambda _: self.sessions)
        monkeypatch.setattr(lifecycle, "workers_of", lambda *_: None)
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))

    def __call__(self, *options: str) -> int:
        return main.run(["lifecycle", "run", str(self.file), *options])


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    return Command(monkeypatch, tmp_path)


def test_without_a_yes_it_is_only_the_plan(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--group", "cpu") == ExitCode.FAILED
    said = capsys.readouterr().err
    assert "s3://sagemaker-dev/lifecycle/0123456789ab on 2 nodes:" in said
    assert "ip-10-0-0-3  cpu  i-3" in said
    assert "the file has changed since the group was deployed" in said
    assert command.sessions.asked == []


def test_with_a_yes_it_runs_and_each_node_tells(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--group", "cpu", "--yes") == ExitCode.OK
    assert "ip-10-0-0-3: OK" in capsys.readouterr().err


def test_one_node_that_fails_is_a_failure(command: Command) -> None:
    command.sessions = Answers(**BAD)
    assert command("--group", "cpu", "--yes") == ExitCode.FAILED


def test_a_protected_environment_has_to_be_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command.file.write_text(f"{TEXT}protected: true\n")
    assert command("--group", "cpu", "--yes") == ExitCode.FAILED
    assert command.sessions.asked == []
    monkeypatch.setattr(sys, "stdin", io.StringIO("dev\n"))
    assert command("--group", "cpu") == ExitCode.OK


def test_a_dry_run_needs_no_yes(command: Command) -> None:
    assert command("--group", "cpu", "--dry-run") == ExitCode.OK
    assert all("--dry-run" in request.command for request in command.sessions.asked)


def test_a_group_that_is_none_is_told_with_those_that_are(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--group", "gpu") == ExitCode.USAGE
    assert "dev has no group 'gpu'; did you mean 'cpu'?" in capsys.readouterr().err
    assert command("--group", "storage") == ExitCode.USAGE
    assert "dev has no group 'storage'; it has" in capsys.readouterr().err


def test_without_the_plugin_it_says_where_to_get_it(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert command("--group", "cpu") == ExitCode.FAILED
    assert session_plugin.INSTALLATION in capsys.readouterr().err
