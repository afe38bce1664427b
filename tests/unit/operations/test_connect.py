from __future__ import annotations

from typing import Any

import pytest

from slurmpod.aws.deployment import SessionNodes
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.connect import session_command, usual_group
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve

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


class TwoLoginNodes(SessionNodes):
    def __init__(self) -> None: ...

    def cluster_id(self, cluster: str) -> str:
        return {"lab": "abcde01234yz"}[cluster]

    def running(self, cluster: str, group: str) -> tuple[str, ...]:
        return ("i-00000000000000001", "i-00000000000000002") if group == "login" else ()


def lab(access: str = "{sessions: {}}", text: str = TEXT) -> Resolved:
    loaded = read_as("environment.yaml", text.replace("ACCESS", access))
    assert loaded.environment is not None, loaded.problems
    return resolve(loaded)


def option(command: list[str], name: str) -> str | None:
    return command[command.index(name) + 1] if name in command else None


def test_the_target_names_cluster_group_and_instance() -> None:
    command = session_command(TwoLoginNodes(), lab(), "login", 2)
    assert command[:3] == ["aws", "ssm", "start-session"]
    assert option(command, "--target") == "sagemaker-cluster:abcde01234yz_login-i-00000000000000002"
    assert option(command, "--region") == "us-west-2"


@pytest.mark.parametrize(
    ("access", "document"), [("{sessions: {}}", "slurmpod-lab-session"), ("{}", None)]
)
def test_the_document_is_that_of_the_environment_if_it_has_one(access: str, document: Any) -> None:
    command = session_command(TwoLoginNodes(), lab(access), "login", 1)
    assert option(command, "--document-name") == document


@pytest.mark.parametrize(("group", "number"), [("login", 0), ("login", 3), ("head", 1)])
def test_a_node_that_is_not_there_is_said_so(group: str, number: int) -> None:
    with pytest.raises(AwsUnavailable, match=f"{group} has no running node {number}"):
        session_command(TwoLoginNodes(), lab(), group, number)


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
