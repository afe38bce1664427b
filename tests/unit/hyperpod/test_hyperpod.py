"""The platform where machines fail, without any machine."""

from __future__ import annotations

import json
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from embedded_aws.cluster import (
    AccountingDatabase,
    ClusterFailed,
    ClusterNode,
    InstanceGroup,
    NetworkInterface,
)
from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.hyperpod import creation
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.creation import together
from slurmpod.rehearsal.hyperpod.hyperpod import HyperPod, check_ranges
from slurmpod.rehearsal.hyperpod.node_roles import NodeRole
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.state import Journal
from tests.unit.hyperpod.clusters import ON_CREATE, cluster, group, node, slurm


class Network:
    """Gives out interfaces and knows which there are."""

    def __init__(self) -> None:
        self.interfaces: list[str] = []

    def create_interface(self, group: InstanceGroup) -> NetworkInterface:
        number = len(self.interfaces)
        self.interfaces.append(f"eni-{number}")
        return NetworkInterface(
            f"eni-{number}", f"10.0.0.{number + 4}", "", "subnet-1", "10.0.0.0/24", "a", "az1"
        )

    def delete_interface(self, interface_id: str) -> None:
        self.interfaces.remove(interface_id)


class NoMachines:
    """No machine boots, so that there is none whose power could be cut."""

    is_closed = False

    def boot(self, spec: object) -> None:
        raise MachineFailed("no memory")

    def power_cut(self, hostname: str) -> None:
        raise MachineFailed(f"there is no machine {hostname}")

    def add_file_system(self, source: str, directory: Path) -> None:
        raise NotImplementedError


def hyperpod(folder: Path, *, keeps_failed: bool = False, **answers: Any) -> HyperPod:
    gateway: Any = SimpleNamespace(shared_file_systems=tuple, database_servers=tuple, **answers)
    machines: Any = NoMachines()
    return HyperPod(
        machines=machines,
        gateway=gateway,
        journal=Journal(folder),
        folder=folder,
        assume_role=lambda _: NodeRole(gateway, {}),
        profile=load().profile,
        keeps_failed=keeps_failed,
    )


def test_a_cluster_whose_database_does_not_start_fails_and_can_be_deleted(tmp_path: Path) -> None:
    network: Any = Network()
    demo = cluster(group("head", slurm=slurm("Controller")))
    demo.network = network
    database = AccountingDatabase("db.example", 3306, "records", "arn:secret")
    demo.settings = replace(demo.settings, accounting_database=database)
    secret = json.dumps({"username": "slurm", "password": "p"})
    platform = hyperpod(tmp_path, secret=lambda _arn: secret)

    with pytest.raises(ClusterFailed, match="database did not start: no memory"):
        platform.create(demo)
    platform.delete(demo)
    assert (demo.nodes, network.interfaces) == ([], [])


def test_a_cluster_whose_nodes_do_not_boot_fails_and_can_be_deleted(tmp_path: Path) -> None:
    network: Any = Network()
    demo = cluster(
        group("head", slurm=slurm("Controller")), group("cpu", 2, slurm=slurm("Compute"))
    )
    demo.network = network
    platform = hyperpod(tmp_path)

    with pytest.raises(ClusterFailed, match="the rehearsal's platform failed: no memory"):
        platform.create(demo)
    platform.delete(demo)
    assert (demo.nodes, network.interfaces) == ([], [])


def test_a_failed_cluster_that_is_to_be_kept_stays_with_its_reason(tmp_path: Path) -> None:
    demo = cluster(group("head", slurm=slurm("Controller")))
    network: Any = Network()
    demo.network = network
    platform = hyperpod(tmp_path, keeps_failed=True)
    with pytest.raises(ClusterFailed, match="no memory"):
        platform.create(demo)
    demo.failure_message = "no memory"
    with pytest.raises(ClusterFailed, match="no memory"):
        platform.delete(demo)
    assert len(demo.nodes) == len(network.interfaces) == 1


@pytest.mark.parametrize(
    ("count", "lifecycle", "reason"),
    [
        (0, None, "The controller group head has no instance"),
        (2, None, "only OnCreate scripts can set that up"),
    ],
)
def test_controllers_that_cannot_be_fail_the_cluster(
    tmp_path: Path, count: int, lifecycle: Any, reason: str
) -> None:
    demo = cluster(group("head", count, slurm=slurm("Controller"), lifecycle=lifecycle))
    with pytest.raises(ClusterFailed, match=reason):
        hyperpod(tmp_path).create(demo)


def test_a_script_that_is_not_there_fails_the_cluster(tmp_path: Path) -> None:
    demo = cluster(group("head", lifecycle=ON_CREATE))
    platform = hyperpod(tmp_path, objects=lambda _bucket, _prefix: {})
    with pytest.raises(ClusterFailed, match=r"There is no on_create\.sh under s3:"):
        platform.create(demo)


class FailingRun:
    """A run whose script fails while slurm.conf is written, and which gives up slowly."""

    def __init__(self) -> None:
        self.controllers = [node("head", "10.0.0.4")]
        self.cluster = cluster(group("head"), nodes=self.controllers)
        self.given_up = threading.Event()
        self.writes, self.is_off = threading.Event(), threading.Event()
        self.journal, self.output_folder = Mock(), Mock()
        self.machines = self.provisioning = None
        self.profile = load().profile

    def boot(self, node: ClusterNode) -> None:
        pass

    def configures_itself(self, node: ClusterNode) -> bool:
        return False

    def configure(self, node: ClusterNode) -> None:
        pass

    def write_slurm_configuration(self, **_: object) -> None:
        self.writes.set()
        self.is_off.wait()
        raise ClusterFailed("the controller is off")

    def run_scripts(self, node: ClusterNode) -> None:
        self.writes.wait()
        raise ClusterFailed("the script failed")

    def power_off(self, node: ClusterNode) -> None:
        self.is_off.set()
        time.sleep(0.2)


def test_what_breaks_because_a_script_failed_is_not_the_cause() -> None:
    run = FailingRun()

    with pytest.raises(ClusterFailed, match="the script failed"):
        creation.Creation(cast("ClusterRun", run), Mock()).run()


class TestTogether:
    def test_a_nodes_failure_comes_before_what_it_broke(self) -> None:
        given_up = []

        def fail() -> None:
            raise ClusterFailed("scripts")

        with pytest.raises(ClusterFailed, match="scripts"):
            together([fail], lambda: given_up.append(True))
        assert given_up == [True]

    def test_any_other_failure_is_the_platforms(self) -> None:
        def fail() -> None:
            raise ZeroDivisionError("oops")

        with pytest.raises(ClusterFailed, match="the rehearsal's platform failed: oops"):
            together([fail, lambda: None], lambda: None)

    def test_who_waited_for_others_is_not_the_cause(self) -> None:
        barrier, waiter_has_ended = threading.Barrier(2), threading.Event()

        def wait() -> None:
            try:
                barrier.wait()
            finally:
                waiter_has_ended.set()

        def fail_late() -> None:
            barrier.abort()
            waiter_has_ended.wait()
            time.sleep(0.2)  # the waiter's failure is seen first
            raise MachineFailed("no memory")

        with pytest.raises(ClusterFailed, match="the rehearsal's platform failed: no memory"):
            together([wait, fail_late], lambda: None)

    def test_nothing_to_do(self) -> None:
        together([], lambda: None)


@pytest.mark.parametrize(
    ("subnet", "cidr", "collides"),
    [
        ("subnet-1", "10.0.0.0/24", False),
        ("subnet-2", "10.0.1.0/24", False),
        ("subnet-2", "10.0.0.0/16", True),
    ],
)
def test_clusters_side_by_side_have_addresses_of_their_own(
    subnet: str, cidr: str, collides: bool
) -> None:
    def placed(subnet_id: str, block: str) -> ClusterNode:
        interface = NetworkInterface("eni-1", "10.0.0.5", "", subnet_id, block, "a", "az1")
        return replace(node("cpu", "10.0.0.5"), interface=interface)

    there = cluster(group("cpu"), nodes=[placed("subnet-1", "10.0.0.0/24")])
    new = cluster(group("cpu"), nodes=[placed(subnet, cidr)])
    refused = pytest.raises(ClusterFailed, match="all nodes share one network")
    with refused if collides else nullcontext():
        check_ranges(new, [there])
