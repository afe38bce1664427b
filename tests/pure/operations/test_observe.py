"""What is read of what a node has printed in its session."""

from __future__ import annotations

import json

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.environment.cluster import Role
from slurmpod.operations.observe import node_command, observed_node

FIRST = {"interface": "eth0", "disks": ["/opt/sagemaker"]}
TOLD = json.dumps({"now": {"interface": "ens5", "disks": []}, "at_first": FIRST})


def test_the_facts_are_what_the_program_prints() -> None:
    node = observed_node("ip-10-0-0-4", Role.CONTROLLER, f"{TOLD}\n")
    assert (node.name, node.role) == ("ip-10-0-0-4", Role.CONTROLLER)
    assert node.now["interface"] == "ens5"
    assert node.image == {"interface": "ens5", "disks": ["/opt/sagemaker"]}


def test_scripts_that_noted_nothing_leave_what_there_is_now() -> None:
    told = json.dumps({"now": {"interface": "ens5"}, "at_first": None})
    assert observed_node("a", Role.WORKER, told).image == {"interface": "ens5"}


@pytest.mark.parametrize("answer", ["", "sh: 1: python3: not found\n", TOLD[:20]])
def test_a_node_that_tells_something_else_is_told_of(answer: str) -> None:
    with pytest.raises(AwsUnavailable, match="a did not print its facts"):
        observed_node("a", Role.WORKER, answer)


def test_the_command_is_the_program_for_root() -> None:
    command = node_command()
    assert command.startswith("sudo --non-interactive sh -c '")
    assert len(command) < 65_536, "more is no parameter of a session"
