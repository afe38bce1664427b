"""Operations on single nodes: one at a time for each, and nothing after a node has to go."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from embedded_aws.cluster import (
    BatchSize,
    ClusterFailed,
    ClusterNode,
    FileSystemMount,
    SoftwareUpdate,
    resized,
    staying_members,
    surplus_nodes,
)
from embedded_aws.sagemaker.node_operations import NodeOperations
from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.hyperpod.capacity import Capacity, Shortage
from slurmpod.rehearsal.hyperpod.cluster_run import ClusterRun, operation
from slurmpod.rehearsal.hyperpod.nodes_at_work import NodesAtWork
from slurmpod.rehearsal.hyperpod.provisioning import Provisioning
from slurmpod.rehearsal.hyperpod.software import Software
from slurmpod.rehearsal.hyperpod.update import SoftwareRollout
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.state import Journal
from tests.pure.hyperpod.clusters import ON_CREATE, cluster, group, node


class Machines:
    """Remembers whose power was cut; nothing boots."""

    def __init__(self) -> None:
        self.cut: list[str] = []
        self.off: set[str] = set()
        self.failing: set[str] = set()
        self.ran: list[str] = []
        self.is_closed = False

    def is_off(self, hostname: str) -> bool:
        return hostname in self.off

    def run(self, hostname: str, *_: object, **__: object) -> subprocess.CompletedProcess[bytes]:
        self.ran.append(hostname)
        return subprocess.CompletedProcess([], int(hostname in self.failing), b"", b"")

    def power_cut(self, hostname: str) -> None:
        self.cut.append(hostname)

    def reboot(self, hostname: str) -> None:
        raise MachineFailed(f"{hostname} did not become ready")


class Run(ClusterRun):
    """A run whose nodes get new software or do not, without any machine."""

    broken: frozenset[str] = frozenset()
    renewed: list[str]

    def renew(self, node: ClusterNode) -> None:
        self.renewed.append(node.private_ip)
        if node.private_ip in self.broken:
            raise ClusterFailed(f"{node.private_ip} is broken")


WORKERS = ("10.0.0.5", "10.0.0.6", "10.0.0.7")


WAIT_SECONDS = 10.0


def ask(run: Run, operation: str, node: ClusterNode) -> dict[str, Any]:
    """Ask the API for an operation on a node of a run's cluster."""
    clusters: Any = SimpleNamespace(
        find=lambda *_: run.cluster, is_at_rest=lambda _: True, lock=threading.Lock()
    )
    platform: Any = SimpleNamespace(
        reboot=lambda _, node: run.reboot(node), replace=lambda _, node: run.replace(node)
    )
    given = {"ClusterName": "demo", "NodeIds": [node.instance_id]}
    answer: dict[str, Any] = getattr(NodeOperations(clusters, platform), operation)("x", given)
    return answer


@pytest.fixture
def run(tmp_path: Path) -> Run:
    nodes = [node("head", "10.0.0.4"), *(node("cpu", address) for address in WORKERS)]
    for each in nodes:
        each.status = "Running"
    machines: Any = Machines()
    run = Run(
        cluster=cluster(group("head"), group("cpu", 3), nodes=nodes),
        software=Software(load(["ami-2026-01"]).profile),
        newest=Software(load(["ami-2026-07"]).profile),
        provisioning=Provisioning("head", None, {"cpu": "cpu"}),
        bundles={},
        machines=machines,
        assume_role=lambda _: (_ for _ in ()).throw(AssertionError),
        journal=Journal(tmp_path),
        output_folder=tmp_path,
        capacity=Capacity(Shortage(tmp_path)),
    )
    run.renewed = []
    return run


class TestOneAtATime:
    def test_a_second_operation_is_refused(self, run: Run) -> None:
        worker = run.cluster.nodes[1]
        with operation(run, worker, "Pending"):
            assert run.at_work.is_busy(worker)
            with pytest.raises(ClusterFailed, match="Another operation"):
                run.reboot(worker)
        assert not run.at_work.is_busy(worker)

    @pytest.mark.parametrize("operation", ["reboot", "replace"])
    def test_what_the_api_accepted_begins_when_the_node_is_free(
        self, run: Run, operation: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worker, done, waits = run.cluster.nodes[1], threading.Event(), threading.Event()

        def power_on(node: ClusterNode) -> None:
            node.status = "Running"
            done.set()

        def wait_for(node: ClusterNode) -> None:
            waits.set()
            NodesAtWork.wait_for(run.at_work, node)

        monkeypatch.setattr(run.machines, "reboot", lambda _: done.set())
        monkeypatch.setattr(run, "_fetch_scripts", lambda _: None)
        monkeypatch.setattr(run, "bring_up", power_on)
        monkeypatch.setattr(run.at_work, "wait_for", wait_for)
        run.cluster.status = "InService"
        with run.at_work.alone(worker):  # as while the end of a reboot is told: it runs already
            answer = ask(run, operation, worker)
            assert answer == {"Successful": [worker.instance_id]}
            assert waits.wait(WAIT_SECONDS)
            worker.status = "Running"
        assert done.wait(WAIT_SECONDS)
        run.at_work.wait_for(worker)
        assert worker.status == "Running"

    def test_what_fails_makes_a_failed_node(self, run: Run) -> None:
        worker = run.cluster.nodes[1]
        with pytest.raises(ClusterFailed, match=r"of group cpu .*did not become ready"):
            run.reboot(worker)
        assert (worker.status, worker.message) == ("Failure", "ip-10-0-0-5 did not become ready")
        assert run.cluster.status == "Creating", "not the cluster's concern"

    def test_a_node_that_has_to_go_interrupts_what_is_done_to_it(self, run: Run) -> None:
        worker, at_work = run.cluster.nodes[1], NodesAtWork()
        begun, interrupted, ended = threading.Event(), threading.Event(), threading.Event()

        def work() -> None:
            with at_work.alone(worker):
                begun.set()
                interrupted.wait()
                time.sleep(0.1)  # as what is interrupted takes a while to clean up
                ended.set()

        thread = threading.Thread(target=work)
        thread.start()
        begun.wait()
        with at_work.after_all(worker, interrupted.set):
            assert ended.is_set()
        thread.join()

    def test_nothing_begins_on_a_node_that_goes(self, run: Run) -> None:
        worker = run.cluster.nodes[1]
        worker.is_leaving = True
        with pytest.raises(ClusterFailed, match="no longer wanted"):
            run.replace(worker)
        assert run.machines.cut == []  # type: ignore[attr-defined]

    def test_nothing_begins_when_the_cluster_goes(self, run: Run) -> None:
        run.given_up.set()
        with pytest.raises(ClusterFailed, match="no longer wanted"):
            run.reboot(run.cluster.nodes[1])
        assert run.cluster.nodes[1].status == "Running"

    def test_nothing_begins_when_the_machines_are_closed(self, run: Run) -> None:
        run.machines.is_closed = True  # type: ignore[misc]
        with pytest.raises(ClusterFailed, match="no longer wanted"):
            run.reboot(run.cluster.nodes[1])

    def test_a_node_is_removed_once(self, run: Run) -> None:
        worker = run.cluster.nodes[1]
        run.remove(worker)
        run.machines.cut.clear()  # type: ignore[attr-defined]
        run.remove(worker)  # somebody else may have its address by now
        assert run.machines.cut == []  # type: ignore[attr-defined]

    def test_a_node_that_two_remove_at_once_is_removed_once(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worker, waits = run.cluster.nodes[1], threading.Event()
        failures: list[Exception] = []

        def remove() -> None:
            try:
                run.remove(worker)
            except Exception as failure:  # noqa: BLE001 - a test's
                failures.append(failure)

        monkeypatch.setattr(run.machines, "power_cut", lambda _: waits.set())
        other = threading.Thread(target=remove)
        with run.at_work.alone(worker):
            other.start()
            waits.wait()  # until the other one has seen that the node is there
            run.cluster.nodes.remove(worker)
        other.join()
        assert failures == []


def test_a_standby_controller_that_is_off_keeps_nothing_from_being_done(run: Run) -> None:
    run.cluster.nodes.append(node("head", "10.0.0.8"))
    run.machines.off.add("ip-10-0-0-8")  # type: ignore[attr-defined]
    run.tell_controllers()
    assert run.machines.ran == ["ip-10-0-0-4"]  # type: ignore[attr-defined]


class TestSoftware:
    def update(self, run: Run, *groups: str, batch: int = 2) -> None:
        size = BatchSize(batch, is_percentage=False)
        SoftwareRollout(run, SoftwareUpdate(groups, size, size)).run()

    def test_controllers_first(self, run: Run) -> None:
        self.update(run, "cpu", "head")
        assert run.renewed[0] == "10.0.0.4"
        assert set(run.renewed[1:3]) == {"10.0.0.5", "10.0.0.6"}
        assert run.renewed[3:] == ["10.0.0.7"]
        assert run.cluster.software_updates == {"cpu": "Succeeded", "head": "Succeeded"}

    def test_groups_that_were_updated_have_the_newest(self, run: Run) -> None:
        head, worker, *_ = run.cluster.nodes
        self.update(run, "cpu")
        assert run.software_of(worker) == run.newest
        assert run.software_of(head) == run.software
        assert run.profile == run.software.profile, "the controller's agents are the old ones"
        self.update(run, "head")
        assert run.newest
        assert run.profile == run.newest.profile

    def test_nodes_that_come_up_have_it_already(self, run: Run) -> None:
        run.cluster.nodes[1].status = "Pending"
        self.update(run, "cpu")
        assert set(run.renewed) == {"10.0.0.6", "10.0.0.7"}

    def test_a_failure_takes_those_that_were_begun_back(self, run: Run) -> None:
        run.broken = frozenset({"10.0.0.6"})
        with pytest.raises(ClusterFailed, match=r"10\.0\.0\.6 is broken"):
            self.update(run, "cpu", batch=2)
        four_attempts_and_back = ["10.0.0.6"] * 5
        assert sorted(run.renewed) == ["10.0.0.5"] * 2 + four_attempts_and_back, "the third never"
        assert run.cluster.software_updates == {"cpu": "Failed"}
        assert run.cluster.status == "RollingBack"
        assert run.software_of(run.cluster.nodes[1]) == run.software

    def test_slurmd_of_the_other_groups_may_not_start_again(self, run: Run) -> None:
        run.machines.failing = {"ip-10-0-0-5"}  # type: ignore[attr-defined]
        self.update(run, "head")
        assert run.machines.ran == [f"ip-{worker.replace('.', '-')}" for worker in WORKERS]  # type: ignore[attr-defined]
        assert run.cluster.software_updates == {"head": "Succeeded"}


def test_nodes_on_their_way_out_are_neither_kept_nor_surplus(run: Run) -> None:
    demo = run.cluster
    demo.nodes[1].is_leaving = True
    assert [each.private_ip for each in staying_members(demo, "cpu")] == ["10.0.0.6", "10.0.0.7"]
    surplus = surplus_nodes(demo, (group("head"), group("cpu", 1)))
    assert [each.private_ip for each in surplus] == ["10.0.0.7"]


def test_a_smaller_group_asks_for_no_more_than_it_has() -> None:
    given = group("cpu", 4, min_instance_count=3, request={"MinInstanceCount": 3, "X": 1})
    small = resized(given, 2)
    assert (small.instance_count, small.min_instance_count) == (2, 2)
    assert small.request == {"InstanceCount": 2, "MinInstanceCount": 2, "X": 1}


LUSTRE = FileSystemMount("lustre", "fs-1@tcp:/abcdefgh", "/fsx")


@pytest.mark.parametrize(("profiles", "count"), [((), 0), (("mounted-by-hyperpod",), 2)])
def test_a_profile_says_whether_hyperpod_mounts_beside_an_on_create_script(
    run: Run, profiles: tuple[str, ...], count: int
) -> None:
    run.software = Software(load(profiles).profile)
    run.cluster.groups = (group("head"), group("cpu", 3, lifecycle=ON_CREATE, mounts=(LUSTRE,)))
    ClusterRun.configure(run, run.cluster.nodes[1])
    ran: Any = run.machines
    assert len(ran.ran) == count, "the file system, and the home on it"
