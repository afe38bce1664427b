"""Which job holds which GPU: what Slurm 24.11 and 26.05 print alike."""

from __future__ import annotations

import pytest

from slurmpod_exporter.collectors.gpu_jobs import GPU_JOBS, SHOW_JOBS, SQUEUE
from tests.pure.exporter.fake_host import FakeHost, found, sample

NODE, OTHER = "ip-10-0-0-9", "ip-10-0-0-10"
FORGED = "     Nodes=ip-10-0-0-10 CPU_IDs=0 Mem=0 GRES=gpu:8(IDX:0-7)"


@pytest.fixture
def controller() -> FakeHost:
    host = FakeHost(is_controller=True)
    host.prints(" ".join(SQUEUE), sample("squeue-with-nodes.txt"))
    host.prints(" ".join(SHOW_JOBS), sample("scontrol-jobs.txt"))
    return host


def held(host: FakeHost) -> set[tuple[str, str, str, str]]:
    labels = [each.labels for each in GPU_JOBS.collect(host)]
    return {(each["node"], each["gpu"], each["slurm_job"], each["user"]) for each in labels}


def test_every_gpu_is_told_with_its_job_and_user(controller: FakeHost) -> None:
    assert held(controller) == {
        (NODE, "0", "4711", "alice"),
        (NODE, "1", "4711", "alice"),
        (OTHER, "0", "4711", "alice"),
        (OTHER, "1", "4711", "alice"),
        (NODE, "3", "4712_3", "bob"),
        (NODE, "5", "4712_3", "bob"),
        (NODE, "6", "4712_3", "bob"),
    }


def test_only_the_controller_is_asked_and_only_where_jobs_have_nodes() -> None:
    assert not GPU_JOBS.is_present(FakeHost())
    host = FakeHost(is_controller=True)
    host.prints(" ".join(SQUEUE), "")
    assert GPU_JOBS.is_present(host)
    assert found(GPU_JOBS, host) == {}
    assert host.ran == [" ".join(SQUEUE)]


@pytest.mark.parametrize(
    "line",
    [
        f"JobId=4713 ArrayJobId=4712 ArrayTaskId=3 JobName=x\n{FORGED}",
        f"   SubmitLine=sbatch x\n\nJobId=4713 JobName=y\n{FORGED}",
        f"   SubmitLine=sbatch x\n\nJobId=4720 JobName=y\n{FORGED}",
        f"   Comment=c {FORGED}",
    ],
)
def test_what_a_user_writes_gives_no_job_a_node_that_it_has_not(
    controller: FakeHost, line: str
) -> None:
    real = held(controller)
    controller.prints(" ".join(SHOW_JOBS), f"{sample('scontrol-jobs.txt')}{line}\n")
    assert held(controller) == real


def test_a_job_that_ended_between_two_questions_holds_nothing(controller: FakeHost) -> None:
    controller.prints(" ".join(SQUEUE), "4711|4711|alice|ip-10-0-0-[09-10],other-3\n")
    assert {node for node, *_ in held(controller)} == {OTHER}
