"""What `slurmpod deploy` shows and asks, in which order it works, and how it comes back."""

from __future__ import annotations

import fcntl
import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.cli import deploy, main
from slurmpod.operations.check_job import CheckedJob
from slurmpod.operations.deploy import deployment
from slurmpod.operations.deploy.late_nodes import LateGroup
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.operations.difference import Difference
from slurmpod.operations.lifecycle import NodeReport
from slurmpod.problems import ExitCode, Problem, Severity, Where
from slurmpod.resolve import Resolved
from tests.pure.cli.test_protection import compared, environment
from tests.pure.operations.nodes import live
from tests.sound_environment import SOUND

CONTINUOUS = SOUND.replace(
    "cluster:", "lifecycle: {mode: extended}\ncluster:\n  provisioning: continuous"
)
FEWER = SOUND.replace("count: 2", "count: 1")
NODE = live("workers", "i-1", status="Running")


class Command:
    """The command in an account in which the sound environment is deployed, without a CDK."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.file = folder / "dev.yaml"
        self.file.write_text(SOUND)
        self.home = folder / "home"
        self.done: list[str] = []
        self.stale: tuple[Node, ...] = ()
        self.there: tuple[Node, ...] = (NODE,)
        self.owed: list[str] = []
        self.is_interrupted = False
        self.scripts_succeed = True
        self.late: tuple[LateGroup, ...] = ()
        self.problems: tuple[Problem, ...] = ()
        self.job = CheckedJob(True, "a job ran on ip-1")
        self.patch = monkeypatch
        self.say("")
        monkeypatch.setenv("SLURMPOD_HOME", str(self.home))
        for name, stand_in in self._answers().items():
            monkeypatch.setattr(deploy, name, stand_in)
        for name, stand_in in self._stand_ins().items():
            monkeypatch.setattr(deployment, name, stand_in)
        monkeypatch.setattr(ClusterView, "nodes", lambda *_: self.there)
        monkeypatch.setattr(StackWork, "deploy", self._deploy)
        monkeypatch.setattr(StackWork, "settle", lambda _: None)
        monkeypatch.setattr(StackWork, "in_progress", lambda _: ["dev-cluster"])

    def __call__(self, *options: str) -> int:
        return main.run(["deploy", str(self.file), *options])

    def say(self, answer: str) -> None:
        self.patch.setattr(sys, "stdin", io.StringIO(answer))

    def _answers(self) -> dict[str, Any]:
        """Return what the account, its preflight and this machine say."""
        return {
            "clients_of": lambda _: None,
            "asked": lambda _: None,
            "check": lambda *_: self.problems,
            "cdk_script": lambda: Path("cdk"),
            "has_plugin": lambda: True,
        }

    def _stand_ins(self) -> dict[str, Any]:
        return {
            "compared_with_deployed": lambda _, wanted: compared(
                wanted, environment(2, protected=wanted.protected)
            ),
            "stale_nodes": self._stale_nodes,
            "plan_rollout": self._plan_rollout,
            "run_rollout": self._rollout,
            "workers_of": lambda *_: None,
            "run_check_job": self._check_job,
            "NodeSessions": lambda _: None,
            "late_groups": lambda *_: self.late,
        }

    def _stale_nodes(self, _: object, __: Resolved, due: Sequence[str]) -> tuple[Node, ...]:
        self.owed = list(due)
        return self.stale

    def _plan_rollout(self, *_: object, only: Iterable[str], workers_first: bool) -> Iterable[str]:
        self.done.append(f"plan {sorted(only)}" + " workers first" * workers_first)
        return only

    def _check_job(self, *_: object) -> CheckedJob:
        self.done.append("job")
        return self.job

    def _rollout(self, ids: Iterable[str], tell: Callable[[Any], None], *_: object) -> Any:
        for each in sorted(ids):
            self.done.append(f"scripts {each}")
            report = NodeReport(
                "workers", each, "Running", "ip-1", summary="OK", succeeded=self.scripts_succeed
            )
            tell(report)
            yield report

    def _deploy(self, only: str, confirmed: str) -> None:
        self.done.append(" ".join(filter(None, ["deploy", only, confirmed])))
        if self.is_interrupted:
            raise KeyboardInterrupt


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    return Command(monkeypatch, tmp_path)


def test_shows_what_changes_and_asks(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command.file.write_text(FEWER)
    command.stale = (NODE,)
    assert command() == ExitCode.FAILED
    shown = capsys.readouterr()
    assert "loses something: cluster.groups.workers.count: 2 -> 1" in shown.out
    assert "cost after the deployment: at least" in shown.out
    assert "1 node will run the new scripts: 1 of workers" in shown.out
    assert "run it again with --yes" in shown.err
    assert command.done == []


def test_deploys_then_sets_nodes_up_then_sees_a_job_run(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.stale = (NODE,)
    assert command("--yes") == ExitCode.OK
    assert command.done == ["deploy", "plan ['i-1']", "scripts i-1", "job"]
    said = capsys.readouterr().err
    assert "a job ran on ip-1" in said
    assert said.endswith(f"next: slurmpod connect {command.file}\n")


def test_ends_well_and_names_the_groups_whose_nodes_are_still_to_come(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.file.write_text(CONTINUOUS)
    command.late = (LateGroup("workers", "ml.m5.xlarge", 1, 2, ("no capacity",)),)
    assert command("--yes") == ExitCode.OK
    said = capsys.readouterr().err
    assert (
        "workers (ml.m5.xlarge): 1 of 2 nodes in service, 1 still to come: no capacity\n"
        "HyperPod keeps requesting these nodes; you do not need to deploy again\n"
    ) in said
    assert said.endswith(f"next: slurmpod status {command.file}\n")


def test_runs_no_job_where_no_worker_has_an_instance_and_says_so(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.file.write_text(CONTINUOUS)
    command.late = (LateGroup("workers", "ml.m5.xlarge", 0, 2, ("no capacity",) * 2),)
    assert command("--yes") == ExitCode.FAILED
    said = capsys.readouterr().err
    assert "no job ran: no worker has an instance yet\nworkers (ml.m5.xlarge): 0 of 2" in said
    assert said.endswith(f"next: slurmpod status {command.file}\n")
    assert command.done == ["deploy"]


def test_waits_with_the_job_for_nodes_that_are_only_on_their_way(command: Command) -> None:
    command.file.write_text(CONTINUOUS)
    command.late = (LateGroup("workers", "ml.m5.xlarge", 0, 2, ("no capacity",)),)
    command("--yes")
    assert command.done == ["deploy", "job"]


def test_a_dry_run_changes_nothing_and_asks_nothing(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.file.write_text(FEWER)
    assert command("--dry-run") == ExitCode.OK
    assert command.done == []
    assert capsys.readouterr().err.endswith(f"next: slurmpod deploy {command.file}\n")


@pytest.mark.parametrize(("answer", "code"), [("\n", ExitCode.FAILED), ("dev\n", ExitCode.OK)])
def test_a_protected_environment_is_typed_by_name_and_so_is_its_loss_confirmed(
    command: Command, answer: str, code: ExitCode
) -> None:
    command.file.write_text(f"{FEWER}protected: true\n")
    command.say(answer)
    assert command("--yes") == code
    confirmed = compared(environment(1), environment(2)).confirmation
    assert command.done[:1] == ([f"deploy {confirmed}".strip()] if code is ExitCode.OK else [])


def test_what_aws_refuses_is_not_begun(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.file.write_text(SOUND.replace("us-west-2b", "us-west-2c"))
    assert command("--yes") == ExitCode.FAILED
    assert "nothing was deployed" in capsys.readouterr().err
    assert command.done == []


@pytest.mark.parametrize(
    ("rule", "severity", "code"),
    [
        ("PRE-101", Severity.ERROR, ExitCode.FAILED),
        ("PRE-002", Severity.ERROR, ExitCode.OK),
        ("PRE-003", Severity.WARNING, ExitCode.OK),
    ],
)
def test_what_the_preflight_finds_is_told_and_stops_what_would_fail(
    command: Command,
    capsys: pytest.CaptureFixture[str],
    rule: str,
    severity: Severity,
    code: ExitCode,
) -> None:
    where = Where(str(command.file), 18)
    command.problems = (Problem(rule, severity, where, "the quota is 0", "ask for more"),)
    assert command("--yes") == code
    assert f"the quota is 0 [{rule}]" in capsys.readouterr().err
    assert bool(command.done) == (code is ExitCode.OK)


def test_nodes_may_be_left_alone(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command.stale = (NODE,)
    assert command("--yes", "--no-nodes") == ExitCode.OK
    assert command.done == ["deploy"]
    shown = capsys.readouterr()
    assert "1 node will keep older scripts" in shown.out
    assert shown.err.endswith(f"next: slurmpod lifecycle run {command.file}\n")


@pytest.mark.parametrize("name", ["storage", "dev-storage"])
def test_one_stack_alone_needs_no_nodes(
    command: Command, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    command.stale = (NODE,)
    assert command("--yes", "--only", name) == ExitCode.OK
    assert command.done == ["deploy dev-storage"]
    assert "scripts" not in capsys.readouterr().out


def test_a_stack_that_there_is_not_is_told_with_those_that_there_are(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--only", "access") == ExitCode.USAGE
    assert "dev has no stack 'access'; it has dev-network" in capsys.readouterr().err


def test_scripts_that_fail_are_a_failure_and_are_due_the_next_time(command: Command) -> None:
    command.stale, command.scripts_succeed = (NODE,), False
    assert command("--yes") == ExitCode.FAILED
    assert "job" not in command.done
    command.scripts_succeed = True
    assert command("--yes") == ExitCode.OK
    assert command.owed == ["i-1"]
    command("--dry-run")
    assert command.owed == []


def fail_on_nodes(command: Command) -> None:
    """Let a deployment end with scripts that fail, so that it owes them to a node."""
    command.stale, command.scripts_succeed = (NODE,), False
    assert command("--yes") == ExitCode.FAILED
    command.scripts_succeed = True


def owed(command: Command) -> list[str]:
    command("--dry-run")
    return command.owed


def test_another_stack_alone_does_not_make_up_for_scripts_that_are_due(command: Command) -> None:
    fail_on_nodes(command)
    assert command("--yes", "--only", "storage") == ExitCode.OK
    assert owed(command) == ["i-1"]


def test_scripts_are_due_to_a_node_that_does_not_run_now_until_it_is_gone(command: Command) -> None:
    fail_on_nodes(command)
    command.stale = (live("workers", "i-2", status="Running"),)
    command.there = (live("workers", "i-1", status="Pending"), *command.stale)
    assert command("--yes") == ExitCode.OK
    assert command.done[-2:] == ["scripts i-2", "job"]
    assert owed(command) == ["i-1"]
    command.there = command.stale
    assert command("--yes") == ExitCode.OK
    assert owed(command) == []


def test_workers_that_need_something_before_their_controller_come_first_also_the_next_time(
    command: Command,
) -> None:
    command.stale, command.scripts_succeed = (NODE,), False
    command.file.write_text(f"{SOUND}lifecycle: {{containers: true}}\n")
    command("--yes")
    command.file.write_text(SOUND)
    command("--yes")
    plans = [each for each in command.done if each.startswith("plan")]
    assert plans == ["plan ['i-1'] workers first"] * 2


def test_an_interrupted_deployment_says_what_goes_on_and_how_to_come_back(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.stale, command.is_interrupted = (NODE,), True
    assert command("--yes", "--only", "cluster") == ExitCode.INTERRUPTED
    said = capsys.readouterr().err
    assert "CloudFormation continues with dev-cluster" in said
    assert f"to go on from there: slurmpod deploy {command.file} --only cluster\n" in said
    command("--dry-run")
    assert command.owed == ["i-1"]


def test_a_job_that_does_not_run_is_a_failure(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.job = CheckedJob(False, "srun: error: all nodes are down")
    assert command("--yes") == ExitCode.FAILED
    assert "no job ran: srun: error: all nodes are down" in capsys.readouterr().err


def test_all_of_it_as_data(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    command.stale = (NODE,)
    assert command("--yes", "--json") == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert (data["name"], data["is_deployed"], data["changes"]) == ("dev", True, [])
    assert data["stacks"][0] == "dev-network"
    assert data["nodes"][0]["instance_id"] == data["reports"][0]["instance_id"] == "i-1"
    assert data["job"]["detail"] == "a job ran on ip-1"


@pytest.mark.parametrize(
    "reason", ["Unable to locate credentials", "AccessDenied: no", "Throttling: Rate exceeded"]
)
def test_an_account_that_does_not_answer_is_told(
    command: Command, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    def refuse(*_: object) -> Difference:
        raise AwsUnavailable(f"cannot describe the stacks: {reason}")

    command.patch.setattr(deployment, "compared_with_deployed", refuse)
    assert command("--yes") == ExitCode.FAILED
    assert capsys.readouterr().err == f"cannot describe the stacks: {reason}\n"


def test_two_at_once_do_not_get_in_each_others_way(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command("--dry-run")
    (lock,) = command.home.rglob("lock")
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert command("--yes") == ExitCode.FAILED
    assert "another slurmpod on this machine is working on dev" in capsys.readouterr().err
    assert command.done == []


def test_an_environment_with_errors_is_not_deployed(command: Command) -> None:
    command.file.write_text(SOUND.replace("role: worker", "role: wroker"))
    assert command("--yes") == ExitCode.INVALID


def test_a_machine_without_the_cdk_says_where_it_comes_from(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    command.patch.setattr(deploy, "cdk_script", lambda: None)
    assert command("--yes") == ExitCode.UNPREPARED
    assert "fix: slurmpod prepare" in capsys.readouterr().err
