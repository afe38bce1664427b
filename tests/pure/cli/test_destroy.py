"""What `slurmpod destroy` shows, asks and leaves."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.aws.errors import AwsUnavailable, as_unavailable
from slurmpod.aws.live_nodes import LiveNodes
from slurmpod.cli import destroy, main
from slurmpod.operations import destroy as destroying
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.operations.destroy import DestroyPlan
from slurmpod.operations.slurm_remote import RemoteSlurm
from slurmpod.problems import ExitCode
from tests.sound_environment import SOUND

BEFORE = DestroyPlan(("dev-cluster", "dev-storage"), "dev-network", ("fs-1",), ("dev-access",))
AFTER = DestroyPlan((), "dev-network", ("fs-1",), ())
GONE = DestroyPlan((), "", (), ())


class Command:
    """The command in an account with these stacks: first, once they are at rest, and after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.file = folder / "dev.yaml"
        self.file.write_text(SOUND)
        self.done: list[str] = []
        self.plans = [BEFORE, BEFORE, AFTER]
        self.interrupted = False
        self.patch = monkeypatch
        self.say("")
        monkeypatch.setenv("SLURMPOD_HOME", str(folder / "home"))
        for name in ("clients_of", "AwsAccount", "AccountInventory"):
            monkeypatch.setattr(destroy, name, lambda _: None)
        monkeypatch.setattr(destroy, "require_account", lambda *_: None)
        monkeypatch.setattr(destroy, "cdk_script", lambda: Path("cdk"))
        for module in (destroy, destroying):
            monkeypatch.setattr(module, "plan_destroy", lambda *_: self.plans.pop(0))
        monkeypatch.setattr(destroying, "in_the_network", lambda *_: self.plans[0].holders)
        monkeypatch.setattr(StackWork, "cdk", Cdk())
        monkeypatch.setattr(StackWork, "run", self._run)
        monkeypatch.setattr(StackWork, "settle", lambda _: None)
        monkeypatch.setattr(StackWork, "in_progress", lambda _: ["dev-cluster"])

    def __call__(self, *options: str) -> int:
        return main.run(["destroy", str(self.file), *options])

    def say(self, answer: str) -> None:
        self.patch.setattr(sys, "stdin", io.StringIO(answer))

    def _run(self, _: str, run: str) -> None:
        self.done.append(run)
        if self.interrupted:
            raise KeyboardInterrupt


class Cdk:
    """The CDK's command line, of which only the commands are told."""

    def synthesize(self, _: Path) -> str:
        return "synth"

    def destroy(self, stacks: Any) -> str:
        return f"destroy {' '.join(stacks)}"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    return Command(monkeypatch, tmp_path)


def test_says_what_goes_and_what_stays_and_costs_and_asks_for_the_name(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command() == ExitCode.FAILED
    shown = capsys.readouterr()
    assert "stacks to delete, in this order: dev-cluster, dev-storage\n" in shown.out
    assert "dev-network stays, because it contains fs-1" in shown.out
    assert "  /fsx (Lustre PERSISTENT_2 SSD, 1200 GiB" in shown.out
    assert "stacks that are not in the file stay: dev-access" in shown.out
    assert "type dev to destroy it:" in shown.err
    assert command.done == []


@pytest.mark.parametrize(("answer", "options"), [("dev\n", ()), ("", ("--yes",))])
def test_leaves_the_network_with_what_is_in_it_and_says_how_that_goes(
    command: Command,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    options: tuple[str, ...],
) -> None:
    command.say(answer)
    assert command(*options) == ExitCode.OK
    assert command.done == ["synth", "destroy dev-cluster dev-storage"]
    said = capsys.readouterr().err
    assert "aws fsx delete-file-system --file-system-id fs-1 --region us-west-2" in said
    assert said.endswith(f"next: slurmpod destroy {command.file}\n")


def test_what_is_left_goes_the_second_time_and_nothing_the_third(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    left = DestroyPlan((), "dev-network", (), ())
    command.plans = [left, left, GONE, GONE]
    assert command("--yes") == ExitCode.OK
    assert command.done == ["synth", "destroy dev-network"]
    assert "nothing of dev is left in CloudFormation" in capsys.readouterr().err
    assert command("--yes") == ExitCode.OK
    assert len(command.done) == 2


def test_a_protected_environment_is_refused_whoever_asks(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.file.write_text(f"{SOUND}protected: true\n")
    command.say("dev\n")
    assert command("--yes") == ExitCode.FAILED
    assert "set 'protected: false', deploy, then destroy" in capsys.readouterr().err
    assert command.done == []


def test_a_dry_run_destroys_nothing(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--dry-run", "--json") == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert (data["name"], data["stacks"]) == ("dev", ["dev-cluster", "dev-storage"])
    assert command.done == []


def test_an_interrupted_one_says_what_goes_on_and_how_to_come_back(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.interrupted = True
    assert command("--yes", "--only", "cluster") == ExitCode.INTERRUPTED
    said = capsys.readouterr().err
    assert "CloudFormation continues with dev-cluster" in said
    assert f"slurmpod destroy {command.file} --only cluster\n" in said


RECORDS = "slurm: {records_backup: {}}\n"


class Slurm:
    """A controller that saves its records, or does not answer."""

    def __init__(self, command: Command, *, answers: bool) -> None:
        self._command, self._answers = command, answers

    def save_records(self) -> None:
        if not self._answers:
            raise AwsUnavailable("the controller did not answer")
        self._command.done.append("records")


@pytest.mark.parametrize(
    ("answers", "done"),
    [(True, ["records", "synth", "destroy dev-cluster dev-storage"]), (False, [])],
)
def test_a_controllers_records_are_saved_before_its_disk_goes(
    command: Command, capsys: pytest.CaptureFixture[str], answers: bool, done: list[str]
) -> None:
    command.file.write_text(f"{SOUND}{RECORDS}")
    command.patch.setattr(LiveNodes, "all", lambda _: ())
    slurm = Slurm(command, answers=answers)
    command.patch.setattr(RemoteSlurm, "of", lambda *_: slurm)
    assert command("--yes") == (ExitCode.OK if answers else ExitCode.FAILED)
    assert command.done == done
    shown = capsys.readouterr()
    assert "job records are saved first" in shown.out
    assert ("remove slurm.records_backup to destroy" in shown.err) is not answers


@pytest.mark.parametrize(
    ("left", "done"),
    [
        (DestroyPlan(("dev-storage",), "dev-network", (), ()), ["synth", "destroy dev-storage"]),
        (GONE, []),
    ],
)
def test_what_an_interrupted_one_had_begun_is_gone_with_its_records(
    command: Command, left: DestroyPlan, done: list[str]
) -> None:
    command.file.write_text(f"{SOUND}{RECORDS}")
    command.plans = [BEFORE, left, AFTER]
    assert command("--yes") == ExitCode.OK
    assert command.done == done


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        ("ResourceNotFound", ExitCode.OK, "dev has no cluster, so that there are no job records"),
        ("AccessDeniedException", ExitCode.FAILED, "nothing was destroyed, as the job records"),
    ],
)
def test_a_stack_without_its_cluster_has_no_records(
    command: Command, capsys: pytest.CaptureFixture[str], answer: str, code: ExitCode, told: str
) -> None:
    def refuse(_: LiveNodes) -> None:
        with as_unavailable("list the nodes of dev"):
            raise ClientError({"Error": {"Code": answer}}, "ListClusterNodes")

    command.file.write_text(f"{SOUND}{RECORDS}")
    command.patch.setattr(LiveNodes, "all", refuse)
    assert command("--yes") == code
    assert bool(command.done) is (code == ExitCode.OK)
    assert told in capsys.readouterr().err


def test_a_stack_that_there_is_not_is_told(command: Command) -> None:
    assert command("--only", "access") == ExitCode.USAGE
