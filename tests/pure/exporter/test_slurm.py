"""What the exporter makes of what Slurm's commands print: recorded from Slurm 24.11."""

from __future__ import annotations

import time

import pytest

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.collectors.slurm_controller import (
    SLURM_JOBS,
    SLURM_NODES,
    SLURM_SCHEDULER,
    plain_state,
)
from tests.pure.exporter.fake_host import NOW, FakeHost, found, sample

BIN = "/opt/slurm/bin"
GPU_NODE = "ip-10-0-0-9|p5*|mixed*|96/96/0/192|gpu:h100:8(S:0-1),nic:2|gpu:h100:3(IDX:0-2),nic:0|\n"


@pytest.fixture
def controller() -> FakeHost:
    host = FakeHost(is_controller=True)
    host.prints(f"{BIN}/sinfo", sample("sinfo.txt"))
    host.prints(f"{BIN}/squeue", sample("squeue.txt"))
    host.prints(f"{BIN}/sdiag", sample("sdiag.txt"))
    host.prints(f"{BIN}/scontrol", "Slurmctld(primary) at ip-10-0-128-4 is UP\n")
    return host


@pytest.mark.parametrize("collector", [SLURM_NODES, SLURM_JOBS, SLURM_SCHEDULER])
def test_only_controllers_tell_of_slurm(collector: Collector, controller: FakeHost) -> None:
    assert collector.is_present(controller)
    assert not collector.is_present(FakeHost())


class TestNodes:
    def test_a_node_in_two_partitions_is_one_node(self, controller: FakeHost) -> None:
        seen = found(SLURM_NODES, controller)
        states = [name for name in seen if name.startswith("slurmpod_slurm_node_state")]
        assert states == [
            "slurmpod_slurm_node_state{node=ip-10-0-128-5,state=drained}",
            "slurmpod_slurm_node_state{node=ip-10-0-128-6,state=allocated}",
            "slurmpod_slurm_node_state{node=ip-10-0-128-7,state=allocated}",
        ]
        assert seen["slurmpod_slurm_node_cpus{node=ip-10-0-128-6,use=allocated}"] == 8
        assert seen["slurmpod_slurm_partition_nodes{partition=dev,state=allocated}"] == 2
        assert seen["slurmpod_slurm_partition_nodes{partition=dev,state=drained}"] == 1
        assert not [name for name in seen if "gpus" in name]

    def test_gpus_are_counted_whatever_slurm_writes_about_them(self, controller: FakeHost) -> None:
        controller.prints(f"{BIN}/sinfo", GPU_NODE)
        seen = found(SLURM_NODES, controller)
        assert seen["slurmpod_slurm_node_gpus{node=ip-10-0-0-9,use=all}"] == 8
        assert seen["slurmpod_slurm_node_gpus{node=ip-10-0-0-9,use=allocated}"] == 3
        assert seen["slurmpod_slurm_node_state{node=ip-10-0-0-9,state=not_responding}"] == 1

    @pytest.mark.parametrize(
        ("shown", "state"),
        [
            ("idle", "idle"),
            ("idle~", "powered_off"),
            ("idle#", "powering_up"),
            ("mixed*", "not_responding"),
            ("down*", "down"),
            ("drained*", "drained"),
            ("draining@", "draining"),
            ("allocated-", "allocated"),
        ],
    )
    def test_states_are_plain_words(self, shown: str, state: str) -> None:
        assert plain_state(shown) == state


class TestJobs:
    def test_are_counted_by_state_and_reason(self, controller: FakeHost) -> None:
        seen = found(SLURM_JOBS, controller)
        assert seen["slurmpod_slurm_jobs{partition=cpu,state=running}"] == 1
        assert seen["slurmpod_slurm_jobs{partition=cpu,state=pending}"] == 3
        assert seen["slurmpod_slurm_pending_jobs{partition=cpu,reason=JobHeldUser}"] == 1

    def test_the_longest_wait_is_for_resources(self, controller: FakeHost) -> None:
        minute_ago = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(NOW - 60))
        day_ago = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(NOW - 86400))
        lines = [f"cpu,gpu|PENDING|Priority|{minute_ago}", f"cpu|PENDING|JobHeldUser|{day_ago}"]
        controller.prints(f"{BIN}/squeue", "\n".join(lines))
        seen = found(SLURM_JOBS, controller)
        assert seen["slurmpod_slurm_longest_wait_seconds{partition=cpu}"] == 60

    def test_an_empty_queue_has_nothing_to_tell(self, controller: FakeHost) -> None:
        controller.prints(f"{BIN}/squeue", "")
        assert found(SLURM_JOBS, controller) == {}


class TestScheduler:
    def test_tells_its_work_in_base_units(self, controller: FakeHost) -> None:
        seen = found(SLURM_SCHEDULER, controller)
        assert seen["slurmpod_slurmctld_up{}"] == 1
        assert seen["slurmpod_slurm_jobs_started{}"] == 1
        assert 0 < seen["slurmpod_slurm_cycle_seconds{}"] < 1
        assert seen["slurmpod_slurm_dbd_queue{}"] == 0
        assert seen["slurmpod_slurm_agent_queue{}"] == 0
        assert seen["slurmpod_slurm_server_threads{}"] >= 1

    def test_one_that_does_not_answer_is_down_and_says_no_more(self) -> None:
        host = FakeHost(is_controller=True)
        assert found(SLURM_SCHEDULER, host) == {"slurmpod_slurmctld_up{}": 0}

    def test_a_backup_that_answers_is_enough(self, controller: FakeHost) -> None:
        said = "Slurmctld(primary) at a is DOWN\nSlurmctld(backup) at b is UP\n"
        controller.prints(f"{BIN}/scontrol", said)
        assert found(SLURM_SCHEDULER, controller)["slurmpod_slurmctld_up{}"] == 1
