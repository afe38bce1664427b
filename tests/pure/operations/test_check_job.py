"""The job after a deployment: what its output says of the cluster."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from slurmpod.aws.cluster import ClusterView
from slurmpod.operations.check_job import CheckedJob, read_result, run_check_job
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.pure.operations.test_lifecycle_run import Answers
from tests.sound_environment import SOUND


class Nodes(ClusterView):
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
            "slurmpod-job 1 3 job 7 is PENDING after 180 s: Resources",
            CheckedJob(True, "no node is free; running jobs: 3"),
        ),
        (
            "slurmpod-job 1 0 sbatch: error: invalid partition specified: cpu",
            CheckedJob(False, "sbatch: error: invalid partition specified: cpu"),
        ),
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


@pytest.mark.parametrize(
    ("submitted", "queue", "job"),
    [
        ("echo 7", ["COMPLETED ip-1 None"], CheckedJob(True, "a job ran on ip-1")),
        (
            "echo 7",
            ["PENDING n/a None", "", "RUNNING ip-1 None", "COMPLETED ip-1 None"],
            CheckedJob(True, "a job ran on ip-1"),
        ),
        (
            "echo 7",
            ["PENDING n/a PartitionDown"],
            CheckedJob(False, "job 7 is PENDING after 180 s: PartitionDown"),
        ),
        (
            "echo 7",
            [""],
            CheckedJob(False, "job 7 is unknown after 600 s: slurmctld does not answer"),
        ),
        (
            "echo 7",
            ["RUNNING ip-1 None", "NODE_FAIL ip-1 NodeDown"],
            CheckedJob(False, "job 7 is NODE_FAIL after 1 s: NodeDown"),
        ),
        (
            "echo 'sbatch: error: no  partition' >&2; return 1",
            [],
            CheckedJob(False, "sbatch: error: no partition"),
        ),
    ],
)
def test_is_asked_for_until_it_has_ended(
    tmp_path: Path, submitted: str, queue: list[str], job: CheckedJob
) -> None:
    """`queue` is what squeue answers, the last of it for ever; nothing while slurmctld starts."""
    for number, answer in enumerate(queue, start=1):
        (tmp_path / f"{number}").write_text(answer)
    outside = f"""
    sbatch() {{ {submitted}; }}
    sleep() {{ :; }}
    scancel() {{ :; }}
    squeue() {{
        case $* in *RUNNING*) return ;; esac
        n=$(cat {tmp_path}/n 2>/dev/null || echo 1)
        [ ! -e {tmp_path}/$((n + 1)) ] || echo $((n + 1)) >{tmp_path}/n
        cat {tmp_path}/$n
    }}
    """
    assert said_by(outside) == job


def test_waits_for_the_first_node_before_slurm_chooses_one(tmp_path: Path) -> None:
    outside = f"""
    sleep() {{ touch {tmp_path}/slept; }}
    sinfo() {{ [ -e {tmp_path}/slept ] && echo idle; echo 'idle~'; }}
    sbatch() {{ [ -e {tmp_path}/slept ] && echo 7; }}
    squeue() {{ echo COMPLETED ip-1 None; }}
    """
    assert said_by(outside) == CheckedJob(True, "a job ran on ip-1")


def test_gives_up_when_no_node_comes() -> None:
    outside = "sleep() { :; }; squeue() { :; }; sinfo() { echo 'idle~'; echo 'idle#'; }\n"
    assert said_by(outside) == CheckedJob(False, "no node of cpu is there after 600 s")


def said_by(outside: str) -> CheckedJob:
    (request,) = script_of_the_job()
    said = subprocess.run(
        ["sh", "-c", outside + request, "sh", "cpu"], capture_output=True, text=True, check=False
    )
    assert said.stderr == ""
    return read_result(said.stdout)


def script_of_the_job() -> list[str]:
    """Return what the session runs as ubuntu."""
    sessions = Answers(**{"1": ""})
    run_check_job(Nodes("i-1"), dev(), sessions)
    words = [shlex.split(request.command) for request in sessions.asked]
    return [each[each.index("-c") + 1] for each in words]


def test_a_session_that_does_not_begin_is_a_job_that_did_not_run() -> None:
    refusal = "cannot open a session on node: TargetNotConnected: it is not connected"
    job = run_check_job(Nodes("i-1"), dev(), Answers(**{"1": refusal}))
    assert job == CheckedJob(False, refusal)


def test_a_cluster_without_workers_runs_none() -> None:
    assert run_check_job(Nodes("i-1"), dev(count=0), Answers()) is None


def test_a_cluster_without_a_running_entrance_is_a_failure() -> None:
    job = run_check_job(Nodes(), dev(), Answers())
    assert job == CheckedJob(False, "controller has no running node")
