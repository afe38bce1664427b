"""The platform where machines fail, without any machine."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from embedded_aws.cluster import (
    AccountingDatabase,
    Cluster,
    ClusterFailed,
    ClusterNode,
    InstanceGroup,
    NetworkInterface,
)
from embedded_aws.reachability.model import Graph
from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.hyperpod import creation
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun
from slurmpod.rehearsal.hyperpod.creation import together
from slurmpod.rehearsal.hyperpod.hyperpod import HyperPod
from slurmpod.rehearsal.hyperpod.networks import Networks
from slurmpod.rehearsal.hyperpod.node_roles import NodeRole
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.state import Journal
from tests.pure.hyperpod.clusters import ON_CREATE, cluster, group, node, slurm


class Network:
    """Gives out interfaces in a VPC and knows which there are."""

    def __init__(self, vpc_id: str = "vpc-1") -> None:
        self.vpc_id = vpc_id
        self.interfaces: list[str] = []

    def create_interface(self, group: InstanceGroup) -> NetworkInterface:
        number = len(self.interfaces)
        self.interfaces.append(f"eni-{number}")
        return NetworkInterface(
            interface_id=f"eni-{number}",
            private_ip=f"10.0.0.{number + 4}",
            private_dns_hostname="",
            subnet_id="subnet-1",
            subnet_cidr="10.0.0.0/24",
            availability_zone="a",
            availability_zone_id="az1",
            vpc_id=self.vpc_id,
        )

    def delete_interface(self, interface_id: str) -> None:
        self.interfaces.remove(interface_id)


class NoMachines:
    """No machine boots, so that there is none whose power could be cut."""

    is_closed = False

    def boot(self, spec: object, image: Path | None = None) -> None:
        raise MachineFailed("no memory")

    def power_cut(self, hostname: str) -> None:
        raise MachineFailed(f"there is no machine {hostname}")

    def is_off(self, _: str) -> bool:
        return True

    def add_file_system(self, source: str, directory: Path) -> None:
        raise NotImplementedError

    def beside(self, directory: Path) -> NoMachines:
        directory.mkdir(parents=True)
        return NoMachines()


def hyperpod(
    folder: Path,
    *,
    keeps_failed: bool = False,
    networks: Networks | None = None,
    **answers: Any,
) -> HyperPod:
    gateway: Any = SimpleNamespace(
        shared_file_systems=tuple,
        database_servers=tuple,
        vpc_graph=lambda *_: Graph(),
        **answers,
    )
    return HyperPod(
        networks=networks or networks_in(folder),
        gateway=gateway,
        journal=Journal(folder),
        folder=folder,
        assume_role=lambda _: NodeRole(gateway, {}),
        profile=load().profile,
        keeps_failed=keeps_failed,
    )


def networks_in(folder: Path) -> Networks:
    first: Any = NoMachines()
    return Networks(first, folder, lambda _: None)


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


class TestTwoVpcs:
    """Two clusters in VPCs of the same range; their nodes are kept, though none of them boots."""

    @pytest.fixture
    def networks(self, tmp_path: Path) -> Networks:
        return networks_in(tmp_path)

    @pytest.fixture
    def platform(self, tmp_path: Path, networks: Networks) -> HyperPod:
        platform = hyperpod(tmp_path, networks=networks)
        for number, name in enumerate(("demo", "twin"), start=1):
            with pytest.raises(ClusterFailed, match="no memory"):
                platform.create(self.cluster(name, f"vpc-{number}"))
        return platform

    def cluster(self, name: str, vpc_id: str) -> Cluster:
        made = replace(cluster(group("head", slurm=slurm("Controller"))), name=name, arn=name)
        network: Any = Network(vpc_id)
        made.network = network
        return made

    def test_who_asks_is_known_by_its_network_and_its_address(
        self, tmp_path: Path, networks: Networks, platform: HyperPod
    ) -> None:
        first, second = networks.first, networks.take("vpc-2", "twin")
        asked = [
            platform.instance_at(each.machines, "10.0.0.4", region="us-west-2")
            for each in (first, second)
        ]
        assert all(asked)
        assert len({each.node.instance_id for each in asked if each}) == 2
        agents = [
            platform.health_agent_of(each.machines, "ip-10-0-0-4") for each in (first, second)
        ]
        assert all(agents)
        assert agents[0] is not agents[1]
        assert platform.health_agent_of(first.machines, "ip-10-0-0-5") is None

    def test_the_network_of_a_cluster_that_is_deleted_is_free(
        self, networks: Networks, platform: HyperPod
    ) -> None:
        platform.delete(self.cluster("demo", "vpc-1"))
        assert networks.take("vpc-3", "next") is networks.first
