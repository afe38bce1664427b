"""A machine that exists only in a test, and the nodes that stand on it."""

from __future__ import annotations

import json
from typing import Any

from slurmpod_lifecycle.failures import CommandFailed
from slurmpod_lifecycle.machine import RUN_BY_HAND, Machine
from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.resource_config import DEFAULT_PATH, Instance
from slurmpod_lifecycle.settings import FileSystem, Role, Settings

CONTROLLER_ADDRESS = "10.0.128.10"
ADDRESSES = {
    Role.CONTROLLER: CONTROLLER_ADDRESS,
    Role.LOGIN: "10.0.128.11",
    Role.WORKER: "10.0.128.20",
}
GROUPS = {Role.CONTROLLER: "head", Role.LOGIN: "door", Role.WORKER: "hands"}
MOUNTED = "10.0.200.5@tcp:/abcdefgh /fsx lustre rw,noatime 0 0\n"


class FakeMachine(Machine):
    """Files are a dictionary, commands succeed unless `fail` says otherwise, and all is noted."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.access: dict[str, tuple[int, str]] = {}
        self.open_ports: set[tuple[str, int]] = set()
        self.ran: list[str] = []
        self.inputs: dict[str, str] = {}
        self._outcomes: dict[str, str | CommandFailed] = {"systemd-escape": "fsx.mount\n"}

    def reply(self, command: str, output: str) -> None:
        """Let every command that begins with `command` print `output`."""
        self._outcomes[command] = output

    def fail(self, command: str, reason: str = "no") -> None:
        """Let every command that begins with `command` fail."""
        self._outcomes[command] = CommandFailed(reason, RUN_BY_HAND)

    def did(self, command: str) -> bool:
        return any(ran.startswith(command) for ran in self.ran)

    def run(self, *command: str, text: str = "", fix: str = RUN_BY_HAND) -> str:
        line = " ".join(command)
        self.ran.append(line)
        self.inputs[line] = text
        known = [prefix for prefix in self._outcomes if line.startswith(prefix)]
        outcome = self._outcomes[max(known, key=len)] if known else ""
        if isinstance(outcome, CommandFailed):
            raise CommandFailed(outcome.reason, fix)
        return outcome

    def read(self, path: str) -> str | None:
        return self.files.get(path)

    def write(self, path: str, text: str, *, mode: int = 0o644, owner: str = "") -> bool:
        changed = self.files.get(path) != text
        self.files[path] = text
        self.access[path] = (mode, owner)
        return changed

    def append(self, path: str, line: str) -> None:
        self.files[path] += f"{line}\n"

    def answers(self, address: str, port: int) -> bool:
        return (address, port) in self.open_ports


def settings(*, accounting: bool = True) -> Settings:
    return Settings(
        cluster_name="dev",
        region="us-west-2",
        roles={group: role for role, group in GROUPS.items()},
        file_system=FileSystem("fs-0123.fsx.us-west-2.amazonaws.com", "abcdefgh", "/fsx"),
        accounting=accounting,
        step_timeout_seconds=600,
    )


def node(role: Role, *, accounting: bool = True) -> Node:
    """Return a node of a cluster with one node for each role, whose file system is mounted."""
    machine = FakeMachine()
    machine.files[DEFAULT_PATH] = json.dumps(resource_config())
    machine.files["/proc/self/mounts"] = MOUNTED
    instance = Instance(GROUPS[role], f"{GROUPS[role]}-1", "i-0", ADDRESSES[role])
    return Node(settings(accounting=accounting), machine, instance, role, DEFAULT_PATH)


def machine_of(node: Node) -> FakeMachine:
    assert isinstance(node.machine, FakeMachine)
    return node.machine


def resource_config() -> dict[str, Any]:
    return {
        "ClusterConfig": {"ClusterName": "dev", "ClusterType": "Slurm"},
        "InstanceGroups": [
            {"Name": GROUPS[role], "InstanceType": "ml.m5.large", "Instances": [instance(role)]}
            for role in Role
        ],
    }


def instance(role: Role) -> dict[str, Any]:
    return {
        "InstanceName": f"{GROUPS[role]}-1",
        "AgentIpAddress": "172.16.0.4",
        "CustomerIpAddress": ADDRESSES[role],
        "InstanceId": f"i-{role.value}",
        "InstanceLabel": None,
    }
