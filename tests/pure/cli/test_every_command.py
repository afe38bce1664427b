"""Every command, interrupted at several places, run twice, and given what it cannot use.

AWS, sessions on nodes and the CDK are stand-ins that answer whatever is asked with something of the
right shape: how a command ends is looked at, and what it leaves behind, not what it finds out.
"""

from __future__ import annotations

import base64
import re
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from botocore.model import Shape

from slurmpod.aws.session_manager import SessionRequest
from slurmpod.cli import deploy, destroy
from slurmpod.cli import logs as logs_command
from slurmpod.cli import status as status_command
from slurmpod.cli.main import run
from slurmpod.operations import node_work, patch, scale
from slurmpod.operations.connect import NodeSessions
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.problems import ExitCode
from tests.golden_files import ROOT
from tests.pure.cli.every_command import (
    ASKING,
    ENVIRONMENT,
    OTHERS,
    REHEARSED,
    WITHOUT_JSON,
    lay_out,
    let_in,
    parsers,
)

MOST_EVENTS = 40
"""After so many the cluster that never changes is waited for."""

NOW = datetime(2026, 11, 24, tzinfo=UTC)
READING = ("Describe", "Filter", "Get", "Head", "List", "Search", "Simulate", "Start", "View")
TELLS = re.compile(r"scontrol (update|requeue)|systemctl start|sbatch|scancel|s3 cp")
"""What a session does that changes something."""


NODES = {
    "i-0123456789abcdef0": ("controller", "10.0.0.3"),
    "i-0123456789abcdef1": ("workers", "10.0.0.4"),
    "i-0123456789abcdef2": ("workers", "10.0.0.5"),
}
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+)?|\b[0-9]+\.[0-9]+ s\b")
SHOWN = {"nodes": "NodeName=ip-10-0-0-4 State=IDLE+DRAIN Reason=slurmpod, since 1 [root@x]\n"}
"""What Slurm shows, by what is asked."""

REFUSES_TO_REPLACE = ("init",)
OPENS_SESSIONS = (
    "backup", "connect", "cost", "job status", "lifecycle run", "logs", "node drain", "observe",
    "patch", "status", "why",
)  # fmt: skip
OUTPUT = NodeSessions.output
REFUSAL = ClientError(
    {"Error": {"Code": "TargetNotConnected", "Message": "it is not connected"}}, "StartSession"
)
LINES = {**ASKING, **OTHERS}
WAY_ON = re.compile(r"same command|[Gg]o(es)? on|continues|see: slurmpod|nothing was|wait with")


class World:
    """An account with the environment's cluster; work in it is noted, and can be interrupted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, interrupted_at: int = 0) -> None:
        self.events: list[str] = []
        self.has_changed = False
        self._interrupted_at = interrupted_at

        def call(client: BaseClient, operation: str, asked: Any) -> Any:
            self.note(operation, changes=not operation.startswith(READING))
            return self.answer(client, operation, asked)

        def output(_: NodeSessions, request: SessionRequest, __: float | None = None) -> str:
            self.note("session", changes=bool(TELLS.search(request.command)))
            return spoken(request.command)

        monkeypatch.setattr(BaseClient, "_make_api_call", call)
        monkeypatch.setattr(NodeSessions, "output", output)
        monkeypatch.setattr(StackWork, "run", lambda *_: self.note("cdk", changes=True))
        for module in (deploy, destroy):
            monkeypatch.setattr(module, "cdk_script", lambda: Path("cdk"))
        monkeypatch.setattr(time, "sleep", lambda _: self.note("sleep"))
        for waiting in (node_work, patch, scale):
            monkeypatch.setattr(waiting, "POLL_SECONDS", 0.0)
        for other in (logs_command, status_command):
            monkeypatch.setattr(other, "sleep", lambda _: self.note("sleep"))
        monkeypatch.setattr(Path, "replace", self._watched(Path.replace))

    def note(self, event: str, *, changes: bool = False) -> None:
        self.events.append(event)
        self.has_changed = self.has_changed or changes
        if len(self.events) in (self._interrupted_at, MOST_EVENTS):
            raise KeyboardInterrupt

    def _watched(self, move: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        def watched(source: Path, target: Path) -> Path:
            self.note(f"a file is put at {target.name}")
            return move(source, target)

        return watched

    def answer(self, client: BaseClient, operation: str, asked: Any) -> Any:
        shape = client.meta.service_model.operation_model(operation).output_shape
        empty: Any = something(shape) if shape else {}
        return {**empty, **ANSWERS.get(operation, lambda _: {})(asked)}


def something(shape: Shape) -> Any:
    """Return an answer of a shape, with nothing in its lists and no further page."""
    members = getattr(shape, "members", None)
    if shape.type_name == "structure" and members is not None:
        pages = ("token", "marker", "truncated")
        return {
            name: something(each)
            for name, each in members.items()
            if not name.lower().endswith(pages) and each.type_name != "structure"
        }
    simple = {"list": [], "map": {}, "timestamp": NOW, "boolean": False, "string": "x"}
    return simple.get(shape.type_name, 1)


def summary(id_: str, group: str, address: str) -> dict[str, Any]:
    return {
        "InstanceGroupName": group,
        "InstanceId": id_,
        "InstanceType": "ml.m5.large",
        "LaunchTime": NOW,
        "InstanceStatus": {"Status": "Running", "Message": ""},
        "PrivateDnsHostname": f"ip-{address.replace('.', '-')}",
        "PrivatePrimaryIp": address,
    }


def cluster(_: Any) -> dict[str, Any]:
    groups = {"controller": 1, "workers": 2}
    return {
        "ClusterArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
        "ClusterStatus": "InService",
        "InstanceGroups": [
            {
                "InstanceGroupName": name,
                "InstanceType": "ml.m5.large",
                "CurrentCount": count,
                "TargetCount": count,
                "Status": "InService",
                "LifeCycleConfig": {"SourceS3Uri": "s3://bucket/lifecycle/0123", "OnCreate": "x"},
                "ExecutionRole": "arn:aws:iam::123456789012:role/x",
                "ThreadsPerCore": 1,
            }
            for name, count in groups.items()
        ],
    }


def node(asked: Any) -> dict[str, Any]:
    return {"NodeDetails": summary(asked["NodeId"], *NODES[asked["NodeId"]])}


ANSWERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "GetCallerIdentity": lambda _: {
        "Account": "123456789012",
        "Arn": "arn:aws:iam::123456789012:user/newcomer",
    },
    "DescribeCluster": cluster,
    "DescribeClusterNode": node,
    "ListClusterNodes": lambda asked: {
        "ClusterNodeSummaries": [
            summary(id_, group, address)
            for id_, (group, address) in NODES.items()
            if group == asked.get("InstanceGroupNameContains", group)
        ]
    },
    "GetParameter": lambda _: {"Parameter": {"Value": "21"}},
    "SimulatePrincipalPolicy": lambda _: {"EvaluationResults": [{"ResourceSpecificResults": []}]},
    "BatchDeleteClusterNodes": lambda asked: {"Successful": asked["NodeIds"], "Failed": []},
    "BatchRebootClusterNodes": lambda asked: {"Successful": asked["NodeIds"], "Failed": []},
    "BatchReplaceClusterNodes": lambda asked: {"Successful": asked["NodeIds"], "Failed": []},
}


PLANS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "SearchTrainingPlanOfferings": lambda asked: {
        "TrainingPlanOfferings": [
            {
                "TrainingPlanOfferingId": "tpo-1",
                "DurationHours": 24,
                "UpfrontFee": "480.00",
                "ReservedCapacityOfferings": [
                    {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2}
                ],
            }
        ]
        if "InstanceType" in asked
        else [],
        "TrainingPlanExtensionOfferings": [
            {"TrainingPlanExtensionOfferingId": "tpeo-1", "UpfrontFee": "960.00"}
        ],
    },
    "ListTrainingPlans": lambda _: {
        "TrainingPlanSummaries": [
            {"TrainingPlanName": "june", "TrainingPlanArn": "arn", "Status": "Active"}
        ]
    },
    "ExtendTrainingPlan": lambda _: {
        "TrainingPlanExtensions": [{"TrainingPlanExtensionOfferingId": "tpeo-1"}]
    },
}
"""Answers about training plans."""
ANSWERS |= PLANS


def spoken(script: str) -> str:
    """Return what a node prints to the questions of slurmpod: its Slurm has nothing to do."""
    shown = "JobId=7 JobState=COMPLETED Restarts=0 StdOut=/fsx/log"
    ended = f"{shown}\nslurmpod-log 0\nNw==\nslurmpod-nodes\n"
    there = '{"differing": [], "lacking": [], "whole": true}\n'
    said = ended if "slurmpod-log" in script else there if "python3 -c" in script else "7\n"
    text = base64.b64encode(f"{said}slurmpod-status 0\n".encode()).decode()
    asked = re.findall(r"slurmpod-asks ([a-z_]+(?: [0-9]+)?)", script)
    answers = "".join(f"slurmpod-asks {name}\n{SHOWN.get(name, '')}" for name in asked)
    return f"slurmpod-begins\n{text}\nslurmpod-ends\n{answers}"


@pytest.fixture(autouse=True)
def _shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, monkeypatch)
    let_in(monkeypatch)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def words(name: str) -> list[str]:
    return [*name.split(), *LINES[name].split()]


def files(folder: Path) -> dict[str, bytes]:
    """Return all files by their names, but for locks and logs of deployments."""
    found = (each for each in folder.rglob("*") if each.is_file() and each.name != "lock")
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in found}


def test_no_command_is_forgotten() -> None:
    assert {name for name, _ in parsers()} == {*LINES, *REHEARSED}
    assert not LINES.keys() & REHEARSED.keys()
    assert all((ROOT / test).is_file() for test in REHEARSED.values())


def test_commands_that_tell_or_change_something_tell_it_as_json() -> None:
    silent = {name for name, parser in parsers() if "--json" not in parser.format_usage()}
    assert silent == WITHOUT_JSON.keys()


@pytest.mark.parametrize("name", LINES)
def test_interrupted_and_run_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What ends in the middle says how to go on, leaves nothing, and is whole the next time."""
    at_first = files(tmp_path)
    events, undisturbed = outcome(name, tmp_path, monkeypatch, capsys)
    for at in sorted({(len(events) + 1) // 2, len(events)} - {0}):
        tidy(tmp_path, at_first)
        with monkeypatch.context() as patched:
            world = World(patched, interrupted_at=at)
            assert run(words(name)) == ExitCode.INTERRUPTED, f"{events}, at {at}"
        said = capsys.readouterr().err
        assert re.fullmatch("interrupted|to follow again: .*", said.splitlines()[-1])
        assert "Traceback" not in said
        assert "unexpected" not in said
        assert not list((tmp_path / "temporary").iterdir())
        assert files(tmp_path).keys() <= undisturbed[2].keys()
        assert (tmp_path / "dev.yaml").read_text() == ENVIRONMENT
        if world.has_changed:
            assert WAY_ON.search(said), f"{events[:at]}: {said}"
    _, again = outcome(name, tmp_path, monkeypatch, capsys)
    assert again == undisturbed
    if again[2].keys() - at_first.keys():
        _, twice = outcome(name, tmp_path, monkeypatch, capsys)
        assert twice[2] == again[2]
        assert twice[:2] == again[:2] or name in REFUSES_TO_REPLACE


def outcome(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[list[str], tuple[int, str, dict[str, str]]]:
    """Run a command to its end; return what it did, and how it ended, without times."""
    capsys.readouterr()
    with monkeypatch.context() as patched:
        world = World(patched)
        code = run(words(name))
    shown = capsys.readouterr()
    assert "unexpected error" not in shown.err
    timeless = {each: TIME.sub("TIME", text.decode()) for each, text in files(folder).items()}
    return world.events, (code, TIME.sub("TIME", shown.out), timeless)


def tidy(folder: Path, at_first: dict[str, bytes]) -> None:
    """Take away what a command has made."""
    for name in files(folder).keys() - at_first.keys():
        (folder / name).unlink()


UNKNOWN = {
    "connect dev.yaml worker": "did you mean 'workers'?",
    "deploy dev.yaml --only clustr": "did you mean 'cluster'?",
    "destroy dev.yaml --only clustr": "did you mean 'cluster'?",
    "explain NET-01": "did you mean",
    "job cancel dev.yaml seven": "'seven' is not a job number",
    "job plan p5.yaml --model lama2-70b --sequence 1 --global-batch 1": "did you mean",
    "job render dev.yaml chek-nodes": "did you mean 'check-nodes'?",
    "job render dev.yaml check-nodes --group worker": "did you mean 'workers'?",
    "job render dev.yaml check-nodes --partition cpuu": "did you mean 'cpu'?",
    "lifecycle run dev.yaml --group worker --yes": "did you mean 'workers'?",
    "logs dev.yaml --group worker": "did you mean 'workers'?",
    "logs dev.yaml --node ip-10-0-0-44": "did you mean 'ip-10-0-0-4'?",
    "node add dev.yaml worker --yes": "did you mean 'workers'?",
    "node drain dev.yaml ip-10-0-0-44 --yes": "did you mean 'ip-10-0-0-4'?",
    "patch dev.yaml --group worker --yes": "did you mean 'workers'?",
    "scale dev.yaml worker 3 --yes": "did you mean 'workers'?",
    "statsu dev.yaml": "did you mean 'status'?",
    "why dev.yaml ip-10-0-0-44": "did you mean 'ip-10-0-0-4'?",
    "why dev.yaml nodes!": "is neither a node",
}


@pytest.mark.parametrize("line", UNKNOWN)
def test_a_name_that_there_is_not_brings_the_nearest_one(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(monkeypatch)
    code = run(line.split())
    assert code in (ExitCode.FAILED, ExitCode.USAGE) or line.startswith("why")  # tells a story
    assert UNKNOWN[line] in "".join(capsys.readouterr())
    assert not world.has_changed


NO_ENVIRONMENTS = {
    "missing.yaml": "No such file",
    "folder.yaml": "Is a directory|no environment files",  # `validate` takes folders
    "text.yaml": "YAML",
}
READS_AN_ENVIRONMENT = [
    name for name, line in LINES.items() if "dev.yaml" in line or "p5.yaml" in line
]


@pytest.mark.parametrize("name", READS_AN_ENVIRONMENT)
def test_what_is_no_environment_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "text.yaml").write_text("name: [dev\n")
    world = World(monkeypatch)
    for file, reason in NO_ENVIRONMENTS.items():
        given = re.sub(r"(dev|p5)\.yaml", file, LINES[name])
        code = run([*name.split(), *given.split()])
        shown = "".join(capsys.readouterr())
        assert code in (ExitCode.INVALID, ExitCode.FAILED, ExitCode.USAGE)
        assert file in shown
        assert re.search(reason, shown)
        assert "unexpected" not in shown
    assert world.events == []


@pytest.mark.parametrize("name", OPENS_SESSIONS)
def test_a_session_that_aws_refuses_is_told_in_its_words(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(monkeypatch)
    answer = world.answer

    def refuse(client: BaseClient, operation: str, asked: Any) -> Any:
        if operation == "StartSession":
            raise REFUSAL
        return answer(client, operation, asked)

    monkeypatch.setattr(world, "answer", refuse)
    monkeypatch.setattr(NodeSessions, "output", OUTPUT)
    goes_on = name in ("logs", "status", "why")
    assert run(words(name)) == (ExitCode.OK if goes_on else ExitCode.FAILED)
    shown = "".join(capsys.readouterr())
    assert "TargetNotConnected: it is not connected" in " ".join(shown.split())
    assert "unexpected" not in shown


@pytest.mark.parametrize(
    ("program", "needed_for"),
    [
        ("session-manager-plugin", "sessions on nodes need AWS's Session Manager plugin"),
        ("aws", "ssh needs the AWS CLI"),
    ],
)
def test_ssh_is_not_led_to_a_program_that_is_not_there(
    program: str,
    needed_for: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    World(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin" / program).unlink()
    assert run(words("ssh-config")) == ExitCode.FAILED
    assert needed_for in capsys.readouterr().err
    assert not (tmp_path / "home/.ssh").exists()


@pytest.mark.parametrize("name", ["cost", "logs", "status"])
def test_who_looks_is_told_what_to_look_at_next(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    World(monkeypatch)
    assert run(words(name)) == ExitCode.OK
    assert re.fullmatch(
        "next: slurmpod [a-z]+ dev.yaml.*", capsys.readouterr().err.splitlines()[-1]
    )
