"""`slurmpod status` as a command: once, again and again, and where nothing can be asked."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmpod.cli import main, status
from slurmpod.problems import ExitCode
from tests.pure.operations.cluster_at_work import Cluster
from tests.sound_environment import SOUND


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An environment whose cluster is at work."""
    monkeypatch.setattr(status, "clients_of", lambda _: None)
    account = SimpleNamespace(id=lambda: "123456789012")
    monkeypatch.setattr(status, "AwsAccount", lambda _: account)
    monkeypatch.setattr(status, "Sources", lambda *_: Cluster().sources())
    path = tmp_path / "dev.yaml"
    path.write_text(SOUND)
    return str(path)


def test_json_has_everything(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["status", file, "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert found["cluster"]["status"] == "InService"
    assert found["money"]["unread"].startswith("the environment has no `budget`")


def test_the_next_command_asks_about_the_first_node_in_trouble(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["status", file]) == ExitCode.OK
    assert capsys.readouterr().err == f"next: slurmpod why {file} ip-10-0-1-3\n"


def test_while_slurmctld_is_down_the_next_command_shows_its_log(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    down = Cluster(sinfo="slurm_load_partitions: Unable to contact slurm controller\n")
    monkeypatch.setattr(status, "Sources", lambda *_: down.sources())
    assert main.run(["status", file]) == ExitCode.OK
    assert capsys.readouterr().err == f"next: slurmpod logs {file} --kind slurm --kind system\n"


def test_watching_goes_on_until_it_is_interrupted(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(status, "sleep", sleep)
    assert main.run(["status", file, "--watch"]) == ExitCode.INTERRUPTED
    assert slept == [15.0, 15.0]
    assert capsys.readouterr().out.count("account 123456789012") == 2


def test_it_is_not_asked_too_often(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["status", file, "--watch", "1"]) == ExitCode.USAGE
    assert "--watch must be at least 5 seconds" in capsys.readouterr().err


def test_the_account_of_somebody_else_is_refused(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(status, "AwsAccount", lambda _: SimpleNamespace(id=lambda: "1" * 12))
    assert main.run(["status", file]) == ExitCode.FAILED
    assert "belong to account 111111111111" in capsys.readouterr().err


def test_without_credentials_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    (tmp_path / "dev.yaml").write_text(SOUND)
    assert main.run(["status", str(tmp_path / "dev.yaml")]) == ExitCode.FAILED
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "Unable to locate credentials" in said.err
