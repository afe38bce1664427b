"""The job after a deployment: what its output says of the cluster."""

from __future__ import annotations

import shlex

import pytest

from slurmpod.aws.deployment import SessionNodes
from slurmpod.operations.check_job import CheckedJob, read_result, run_check_job
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import SOUND
from tests.unit.operations.test_lifecycle_run import Answers


class Nodes(SessionNodes):
    """A cluster whose controller runs, or does not."""

    def __init__(self, *running: str) -> None:
        self._running = running

    def cluster_id(self, cluster: str) -> str:
        return "abcde01234yz"

    def running(self, cluster: str, group: str) -> tuple[str, ...]:
        return self._running


def dev(count: int = 2) -> Resolved:
    return resolve(read_as("dev.yaml", SOUND.replace("count: 2", f"count: {count}")))


@pytest.mark.parametrize(
    ("printed", "job"),
    [
        ("slurmpod-job 0 1 ip-10-0-0-7", CheckedJob(True, "a job ran on ip-10-0-0-7")),
        (
            "slurmpod-job 1 3 srun: error: Unable to allocate resources",
            CheckedJob(True, "no node is free; jobs that run: 3"),
        ),
        ("slurmpod-job 1 0 srun: error: down", CheckedJob(False, "srun: error: down")),
        ("slurmpod-job 124 0 ", CheckedJob(False, "srun ended with 124")),
        ("\nan error: TargetNotConnected\n", CheckedJob(False, "an error: TargetNotConnected")),
        ("", CheckedJob(False, "nothing")),
    ],
)
def test_is_what_its_session_printed(printed: str, job: CheckedJob) -> None:
    assert read_result(f"Starting session\n{printed}\n" if "job" in printed else printed) == job


def test_runs_in_the_workers_partition_from_where_users_work() -> None:
    sessions = Answers(**{"1": "slurmpod-job 0 0 ip-1"})
    assert run_check_job(Nodes("i-1"), dev(), sessions) == CheckedJob(True, "a job ran on ip-1")
    (request,) = sessions.asked
    assert request.target == "sagemaker-cluster:abcde01234yz_controller-i-1"
    assert "--user=ubuntu" in shlex.split(request.command)


def test_a_session_that_does_not_begin_is_a_job_that_did_not_run() -> None:
    refusal = "cannot open a session on node: TargetNotConnected: it is not connected"
    job = run_check_job(Nodes("i-1"), dev(), Answers(**{"1": refusal}))
    assert job == CheckedJob(False, refusal)


def test_a_cluster_without_workers_runs_none() -> None:
    assert run_check_job(Nodes("i-1"), dev(count=0), Answers()) is None


def test_a_cluster_without_a_running_entrance_is_a_failure() -> None:
    job = run_check_job(Nodes(), dev(), Answers())
    assert job == CheckedJob(False, "controller has no running node")
