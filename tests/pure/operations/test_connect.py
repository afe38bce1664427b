from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from slurmpod.aws.cluster import ClusterView
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_manager import SessionRequest
from slurmpod.operations import connect
from slurmpod.operations.connect import NodeSessions, aws_command, session_request, usual_group
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.session_fakes import Ssm, put_plugin

REQUEST = SessionRequest("node")

TEXT = """\
name: lab
account: "123456789012"
region: us-west-2
network: {zone: usw2-az2}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: login, role: login, instance_type: ml.m5.large, count: 2}
access: ACCESS
"""


class TwoLoginNodes(ClusterView):
    def __init__(self) -> None: ...

    def cluster_id(self, cluster: str) -> str:
        return {"lab": "abcde01234yz"}[cluster]

    def running(self, cluster: str, group: str) -> tuple[str, ...]:
        return ("i-00000000000000001", "i-00000000000000002") if group == "login" else ()


def lab(access: str = "{sessions: {}}", text: str = TEXT) -> Resolved:
    loaded = read_as("environment.yaml", text.replace("ACCESS", access))
    assert loaded.environment is not None, loaded.problems
    return resolve(loaded)


def test_the_target_names_cluster_group_and_instance() -> None:
    request = session_request(TwoLoginNodes(), lab(), "login", 2)
    assert request.target == "sagemaker-cluster:abcde01234yz_login-i-00000000000000002"


@pytest.mark.parametrize(
    ("access", "document"), [("{sessions: {}}", "slurmpod-lab-session"), ("{}", "")]
)
def test_the_document_is_that_of_the_environment_if_it_has_one(access: str, document: str) -> None:
    assert session_request(TwoLoginNodes(), lab(access), "login", 1).document == document


@pytest.mark.parametrize(("document", "options"), [("", []), ("own", ["--document-name", "own"])])
def test_the_aws_cli_has_a_command_for_it(document: str, options: list[str]) -> None:
    assert aws_command("us-west-2", SessionRequest("node", document)) == [
        *("aws", "ssm", "start-session", "--region", "us-west-2", "--target", "node"),
        *options,
    ]


@pytest.mark.parametrize(("group", "number"), [("login", 0), ("login", 3), ("head", 1)])
def test_a_node_that_is_not_there_is_said_so(group: str, number: int) -> None:
    with pytest.raises(AwsUnavailable, match=f"{group} has no running node {number}"):
        session_request(TwoLoginNodes(), lab(), group, number)


@pytest.mark.parametrize(
    ("access", "text", "group"),
    [
        ("{}", TEXT, "login"),
        ("{user_groups: [head]}", TEXT, "head"),
        ("{}", TEXT.replace("role: login,", "role: worker, partition: cpu,"), "head"),
    ],
)
def test_people_go_where_users_work(access: str, text: str, group: str) -> None:
    assert usual_group(lab(access, text)) == group


class TestSessions:
    def test_have_a_terminal_and_return_what_was_printed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put_plugin(tmp_path, monkeypatch, "tty -s && printf 'a\\nb\\n'; echo c >&2")
        ssm = Ssm()
        assert NodeSessions(ssm.clients()).output(REQUEST) == "a\nb\nc\n"
        assert ssm.terminated == []

    def test_end_with_all_that_they_started(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file, ssm = tmp_path / "file", Ssm()
        put_plugin(tmp_path, monkeypatch, f"sleep 987 & echo begun > {file}; wait")
        sessions = NodeSessions(ssm.clients())
        thread = threading.Thread(target=sessions.output, args=(REQUEST,))
        thread.start()
        while not file.exists():
            pass
        sessions.end()
        thread.join(60)
        assert not thread.is_alive()
        assert ssm.terminated == ["me-1"]
        assert sessions.output(REQUEST) == ""
        assert len(ssm.asked) == 1

    def test_one_that_begins_while_all_are_ended_is_ended(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Slow(Ssm):
            def start_session(self, **asked: Any) -> dict[str, Any]:
                sessions.end()
                return super().start_session(**asked)

        put_plugin(tmp_path, monkeypatch, "exec sleep 600")
        ssm = Slow()
        sessions = NodeSessions(ssm.clients())
        assert sessions.output(REQUEST) == ""
        assert ssm.terminated == ["me-1"]

    def test_one_that_takes_too_long_is_ended(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put_plugin(tmp_path, monkeypatch, "echo begun; exec sleep 600")
        ssm = Ssm()
        printed = NodeSessions(ssm.clients()).output(REQUEST, patience_seconds=0.5)
        assert "begun\n".startswith(printed)
        assert ssm.terminated == ["me-1"]

    def test_one_that_is_interrupted_is_ended(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(_: int) -> bytes:
            raise KeyboardInterrupt

        put_plugin(tmp_path, monkeypatch, "exec sleep 600")
        monkeypatch.setattr(connect, "_read_all", interrupt)
        ssm = Ssm()
        with pytest.raises(KeyboardInterrupt):
            NodeSessions(ssm.clients()).output(REQUEST, patience_seconds=600)
        assert ssm.terminated == ["me-1"]
        waiting = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
        assert all(each.finished.is_set() for each in waiting)
