from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from embedded_aws.cluster import AccountingDatabase, ClusterFailed
from slurmpod.aws.gateway import DatabaseServer
from slurmpod.rehearsal.hyperpod.accounting import (
    LOCAL_STORAGE,
    DatabaseServers,
    Storage,
    slurmdbd_conf,
    storage_of,
)
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.state import Journal

DATABASE = AccountingDatabase("db.example", 3307, "records", "arn:secret")


def gateway(secret: str) -> Any:
    return SimpleNamespace(secret=lambda _arn: secret)


def test_records_stay_on_the_controller_unless_a_database_is_named() -> None:
    assert storage_of(gateway(""), None) is LOCAL_STORAGE
    assert b"StoragePass" not in slurmdbd_conf(LOCAL_STORAGE)


def test_the_secret_tells_who_connects_to_the_database() -> None:
    storage = storage_of(gateway('{"username": "slurm", "password": "p"}'), DATABASE)
    assert storage == Storage("db.example", 3307, "records", "slurm", "p")


@pytest.mark.parametrize("secret", ["", "p", "[]", "{}", '{"username": "slurm"}'])
def test_a_secret_of_another_kind_fails_the_cluster(secret: str) -> None:
    with pytest.raises(ClusterFailed, match="arn:secret is not JSON with username and password"):
        storage_of(gateway(secret), DATABASE)


def test_a_password_may_have_what_slurm_would_take_for_a_comment() -> None:
    lines = slurmdbd_conf(Storage("h", 1, "n", "u", "a#b c\\")).decode().splitlines()
    assert r'StoragePass="a\#b c\\"' in lines


class Computer:
    """Machines in the network of a VPC; the first database on them does not start."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.users: set[str] = set()
        self._failures = 1

    def take(self, _vpc: str, user: str) -> Any:
        self.users.add(user)
        return SimpleNamespace(machines=self)

    def leave(self, user: str) -> None:
        self.users.remove(user)

    def boot(self, spec: Any) -> None:
        if spec.hostname in self.running:
            raise MachineFailed(f"{spec.hostname} is already running")
        self.running.add(spec.hostname)

    def power_cut(self, hostname: str) -> None:
        self.running.remove(hostname)

    def run(self, *_: Any, **__: Any) -> subprocess.CompletedProcess[bytes]:
        self._failures -= 1
        status = 1 if self._failures >= 0 else 0
        return subprocess.CompletedProcess([], status, b"", b"mariadb was too slow")


def test_a_server_whose_database_did_not_start_is_tried_again(tmp_path: Path) -> None:
    computer: Any = Computer()
    server = DatabaseServer(
        identifier="records",
        endpoint="db.example",
        port=3306,
        private_ip="10.0.0.9",
        subnet_cidr="10.0.0.0/24",
        vpc_id="vpc-1",
        secret_arn="arn:secret",
        parameters={},
    )
    aws: Any = SimpleNamespace(
        database_servers=lambda: [server],
        secret=lambda _: '{"username": "admin", "password": "p"}',
    )
    servers = DatabaseServers(computer, aws, Journal(tmp_path))
    with pytest.raises(ClusterFailed, match="mariadb was too slow"):
        servers.follow()
    assert (computer.running, computer.users) == (set(), set())
    servers.follow()
    assert (computer.running, computer.users) == ({"rds-records"}, {"RDS records"})
    assert servers.serve("db.example")
