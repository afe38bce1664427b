"""A machine that exists only in a test, and the nodes that stand on it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields, replace
from typing import Any

from slurmpod_lifecycle.machine import COMMAND_TIMEOUT_SECONDS, RUN_BY_HAND, Machine
from slurmpod_lifecycle.node import RESOURCE_CONFIG, Instance, Node
from slurmpod_lifecycle.settings import (
    Access,
    Database,
    FileSystem,
    Kind,
    Mode,
    MultiHead,
    NodeOptions,
    Role,
    S3Mount,
    Settings,
    SlurmSettings,
)
from slurmpod_lifecycle.step import CommandFailed

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
        self.patience: dict[str, float] = {}
        self.runs: Counter[str] = Counter()
        self.stopped: set[str] = set()
        self._outcomes: dict[str, str | CommandFailed] = {"systemd-escape": "fsx.mount\n"}

    def reply(self, command: str, output: str) -> None:
        """Let every command that begins with `command` print `output`."""
        self._outcomes[command] = output

    def fail(self, command: str, reason: str = "no") -> None:
        """Let every command that begins with `command` fail."""
        self._outcomes[command] = CommandFailed(reason, RUN_BY_HAND)

    def did(self, command: str) -> bool:
        return any(ran.startswith(command) for ran in self.ran)

    def run(
        self,
        *command: str,
        text: str = "",
        fix: str = RUN_BY_HAND,
        timeout_seconds: float = COMMAND_TIMEOUT_SECONDS,
    ) -> str:
        line = " ".join(command)
        self.patience[line] = timeout_seconds
        self.ran.append(line)
        self.inputs[line] = text
        if "--property=InvocationID" in command:
            return f"{self.run_of(command[-1])}\n"
        if command[0] == "systemctl":
            self.note_run(command[1], command[-1])
        known = [prefix for prefix in self._outcomes if line.startswith(prefix)]
        outcome = self._outcomes[max(known, key=len)] if known else ""
        if isinstance(outcome, CommandFailed):
            raise CommandFailed(outcome.reason, fix)
        return outcome

    def run_of(self, unit: str) -> str:
        """Return systemd's id of a service's latest run; all of them run from the beginning."""
        return str(self.runs[unit])

    def note_run(self, verb: str, unit: str) -> None:
        """Let a service have another run when it is started again, at once or after a stop."""
        if verb == "stop":
            self.stopped.add(unit)
        elif verb == "restart" or (verb == "start" and unit in self.stopped):
            self.runs[unit] += 1
            self.stopped.discard(unit)

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


LUSTRE = FileSystem(
    kind=Kind.LUSTRE,
    dns_name="fs-0123.fsx.us-west-2.amazonaws.com",
    mount_name="abcdefgh",
    mount_path="/fsx",
    mounted_by_hyperpod=False,
    is_new=True,
    root_squash=False,
    efa=False,
)
OPENZFS = replace(
    LUSTRE,
    kind=Kind.OPENZFS,
    dns_name="fs-4567.fsx.us-west-2.amazonaws.com",
    mount_name="fsx",
    mount_path="/home",
)
BUCKET = S3Mount("training-data", None, "/data", read_only=True, kms_key_arn=None)
DATABASE = Database(
    endpoint="slurm.example.us-west-2.rds.amazonaws.com",
    port=3306,
    name="slurm_acct_db",
    secret_arn="arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf",
    default_user="admin",
    requires_tls=False,
)
TWO_HEADS = MultiHead(controllers=2, shared_directory="/fsx", sns_topic_arn=None)
SLURM = SlurmSettings(configuration={}, partitions={}, qos={}, accounts=())
NO_PEOPLE = Access(groups=(), users=(), home_directory="/home", homes_shared=False, directory=None)
SWITCHES = tuple(each.name for each in fields(NodeOptions) if each.type == "bool")
_USUAL_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(SWITCHES, False),
    "instance_types": {},
    "hardware": {},
    "scratch_path": None,
    "rotate_logs": True,
    "has_way_out": True,
    "artefacts": (),
    "hooks": {},
}
NODE_OPTIONS = NodeOptions(**_USUAL_OPTIONS)
"""What is asked of nodes by default: a new switch is off."""

BACKUP_ADDRESS = "10.0.127.9"


def settings(**changes: Any) -> Settings:
    """Return the settings of a cluster with one Lustre file system, but for `changes`."""
    plain = Settings(
        cluster_name="dev",
        region="us-west-2",
        mode=Mode.CUSTOMER,
        roles={group: role for role, group in GROUPS.items()},
        file_systems=(LUSTRE,),
        s3_mounts=(),
        accounting=True,
        database=None,
        records_backup=None,
        checks=None,
        multi_head=None,
        metrics=None,
        slurm=SLURM,
        access=NO_PEOPLE,
        node=NODE_OPTIONS,
        step_timeout_seconds=600,
    )
    return replace(plain, **changes)


def node(role: Role, **changes: Any) -> Node:
    """Return a node of a cluster with one node for each role, whose file system is mounted.

    `changes` are those of its settings.
    """
    machine = FakeMachine()
    machine.files[RESOURCE_CONFIG] = json.dumps(resource_config())
    machine.files["/proc/self/mounts"] = MOUNTED
    instance = Instance(GROUPS[role], f"{GROUPS[role]}-1", "i-0", ADDRESSES[role])
    return Node(settings(**changes), machine, instance, role, RESOURCE_CONFIG)


def controller_of_two(**changes: Any) -> Node:
    """Return the first of two controllers that share their state and a database."""
    first = node(Role.CONTROLLER, multi_head=TWO_HEADS, database=DATABASE, **changes)
    config = resource_config()
    second = {**instance(Role.CONTROLLER), "InstanceName": "head-2"}
    config["InstanceGroups"][0]["Instances"] = [
        {**second, "CustomerIpAddress": BACKUP_ADDRESS},
        instance(Role.CONTROLLER),
    ]
    machine_of(first).files[RESOURCE_CONFIG] = json.dumps(config)
    return first


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
