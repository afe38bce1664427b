"""What `slurmpod node` and `slurmpod scale` ask before they change anything, and how they end."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.aws import session_plugin
from slurmpod.cli import live_cluster, main
from slurmpod.operations import node_work
from slurmpod.operations.slurm_remote import RemoteSlurm
from slurmpod.problems import ExitCode
from tests.pure.operations.test_node_work import JOB, World, slurm_node, successor
from tests.sound_environment import SOUND


class Command:
    """The commands on an environment with two workers, one of them with a job."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.file = folder / "dev.yaml"
        self.file.write_text(SOUND)
        self.world: Any = World(jobs=[JOB])
        (folder / session_plugin.NAME).touch(mode=0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        monkeypatch.setattr(node_work, "POLL_SECONDS", 0.0)
        monkeypatch.setattr(live_cluster, "clients_of", lambda _: None)
        account = SimpleNamespace(id=lambda: "123456789012")
        monkeypatch.setattr(live_cluster, "AwsAccount", lambda _: account)
        monkeypatch.setattr(live_cluster, "LiveNodes", lambda *_: self.world)
        monkeypatch.setattr(RemoteSlurm, "of", lambda *_: self.world)

    def __call__(self, *words: str) -> int:
        return main.run([word.replace("FILE", str(self.file)) for word in words])


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    return Command(monkeypatch, tmp_path)


def test_without_a_yes_it_is_only_the_plan_with_jobs(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("node", "replace", "FILE", "ip-1") == ExitCode.FAILED
    said = capsys.readouterr().err
    assert "replace 1 node: replace them with new instances" in said
    assert "ip-1  workers  i-1  Running  idle" in said
    assert "1 job there, each is waited for; --requeue requeues it:" in said
    assert "7  alice  train  1:02  ip-1" in said
    assert "nothing was changed" in said
    assert command.world.done == []


def test_with_a_yes_each_node_tells_and_the_next_command_is_named(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("node", "drain", "FILE", "ip-1", "--yes", "--json") == ExitCode.OK
    shown = capsys.readouterr()
    (end,) = json.loads(shown.out)
    assert (end["name"], end["succeeded"], end["detail"]) == ("ip-1", True, "drained")
    assert f"next: slurmpod node resume {command.file} ip-1" in shown.err


def test_a_replaced_node_that_somebody_had_drained_takes_jobs_after_resume(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.world.slurm["ip-2"] = slurm_node("ip-2", "IDLE+DRAIN", "bad cable")
    command.world.becomes = successor
    assert command("node", "replace", "FILE", "ip-2", "--yes") == ExitCode.OK
    shown = capsys.readouterr()
    assert "back; still drained in Slurm, reason: bad cable" in shown.out
    assert f"next: slurmpod node resume {command.file} ip-2\n" in shown.err


def test_a_refused_node_is_a_failure(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command.world.refused = {"i-1": "InstanceIdInUse: busy"}
    assert command("node", "replace", "FILE", "ip-1", "ip-2", "--yes") == ExitCode.FAILED
    shown = capsys.readouterr().out
    assert "FAILED  ip-1  workers  refused: InstanceIdInUse: busy" in shown
    assert "ok  ip-2  workers  takes jobs" in shown


def test_a_protected_environment_has_to_be_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command.file.write_text(f"{SOUND}protected: true\n")
    assert command("node", "drain", "FILE", "ip-1", "--yes") == ExitCode.FAILED
    assert command.world.done == []
    monkeypatch.setattr(sys, "stdin", io.StringIO("dev\n"))
    assert command("node", "drain", "FILE", "ip-1") == ExitCode.OK


def test_an_interruption_says_how_to_go_on(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command.world, "reboot", interrupt)
    assert command("node", "reboot", "FILE", "ip-1", "--yes") == ExitCode.INTERRUPTED
    said = capsys.readouterr().err
    assert "ip-1 may be drained in Slurm; the same command resumes" in said


def test_deleted_nodes_are_gone_in_the_file_too(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("node", "delete", "FILE", "ip-1", "--yes") == ExitCode.OK
    assert "count: 1\n" in command.file.read_text()
    assert "is set to count: 1; commit it" in capsys.readouterr().err


def test_a_group_shrinks_and_names_the_node_that_goes(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("scale", "FILE", "workers", "1", "--yes", "--json") == ExitCode.OK
    shown = capsys.readouterr()
    ended = json.loads(shown.out)
    assert (ended["group"], ended["before"], ended["count"]) == ("workers", 2, 1)
    assert "will be set to count: 1" in shown.err
    assert command.world.done[-1] == "delete i-1"


def test_a_group_that_has_the_count_already_is_left(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("scale", "FILE", "workers", "2") == ExitCode.OK
    assert "workers already has 2 nodes" in capsys.readouterr().err
    assert command.file.read_text() == SOUND


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("scale", "FILE", "gpu", "1"), "dev has no group 'gpu'; it has", ExitCode.USAGE),
        (("scale", "FILE", "controller", "2"), "has the controllers", ExitCode.FAILED),
        (("scale", "FILE", "workers", "-1"), "is not a number of nodes", ExitCode.USAGE),
        (("node", "add", "FILE", "workers", "0"), "is not a number", ExitCode.USAGE),
        (("node", "drain", "FILE", "ip-7"), "unknown node ip-7", ExitCode.FAILED),
        (("node", "explode", "FILE", "ip-7"), "invalid choice", ExitCode.USAGE),
    ],
)
def test_what_cannot_be_is_said_before_anything_happens(
    command: Command,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
    code: ExitCode,
) -> None:
    assert command(*words) == code
    assert said in capsys.readouterr().err
    assert command.world.done == []


def test_a_count_for_which_addresses_do_not_suffice_is_refused(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.file.write_text(SOUND.replace("10.0.0.0/16", "10.0.0.0/24"))
    assert command("scale", "FILE", "workers", "200", "--yes") == ExitCode.INVALID
    assert "choose a vpc_cidr of /23" in capsys.readouterr().err


class TestPatch:
    def test_the_plan_says_what_is_lost(
        self, command: Command, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert command("patch", "FILE") == ExitCode.FAILED
        said = capsys.readouterr().err
        assert "controller: 1 node with HyperPod's image\n" in said
        assert "pending jobs are lost" in said
        assert "ALL JOB RECORDS ARE LOST" in said
        assert "nothing was changed" in said

    def test_saved_records_are_not_lost(
        self, command: Command, capsys: pytest.CaptureFixture[str]
    ) -> None:
        command.file.write_text(f"{SOUND}slurm: {{records_backup: {{}}}}\n")
        assert command("patch", "FILE") == ExitCode.FAILED
        assert "job records are saved first, and restored" in capsys.readouterr().err

    def test_a_group_that_is_none_is_told(self, command: Command) -> None:
        assert command("patch", "FILE", "--group", "gpu") == ExitCode.USAGE
