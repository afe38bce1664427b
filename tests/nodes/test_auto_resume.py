"""`srun --auto-resume=1`: which steps run again when a node dies, and which do not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.shell import CommandFailed, Shell
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import HyperPodLab, group, hostname

STEP = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --exclusive --partition=cpu --open-mode=append
#SBATCH --output=/fsx/%j.log
echo "script starts"
srun --auto-resume=1 sh -c '
trap "" TERM
echo "task $SLURM_PROCID of step $SLURM_STEP_ID on $(hostname)"
[ -e /fsx/second ] || sleep 3600'
echo "step ended with $?"
"""
"""A step that would run for an hour, unless it finds a sign that it is the second one.

Its tasks end KILL_WAIT seconds after SIGTERM.
"""

KILL_WAIT = 10
"""Longer than a node's replacement here: Slurm requeues a job when all its nodes have ended it, and
then holds it for two minutes."""

PROFILES = ("ami-2026-01", "returns-by-itself")
"""On a newer image no step is resumed in place. With HyperPod's ReturnToService=1 any such job is
requeued: slurmctld would end it."""

GPU = STEP.replace("--partition=cpu", "--partition=gpu").replace("--nodes=2", "--nodes=1")


@pytest.fixture(scope="module")
def lab(older_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), older_image, PROFILES) as lab:
        gpu = group("gpu", "Compute", InstanceType="ml.g5.xlarge")
        gpu["SlurmConfig"]["PartitionNames"] = ["gpu"]
        storage: dict[str, Any] = {"InstanceStorageConfigs": [lab.lustre_storage]}
        groups = [group("head", "Controller"), group("cpu", "Compute", 2), gpu]
        created = lab.create("demo", [{**item, **storage} for item in groups])
        assert (created["ClusterStatus"], created.get("FailureMessage")) == ("InService", None)
        configure(lab, f"KillWait={KILL_WAIT}")
        yield lab
        lab.delete("demo")


def configure(lab: HyperPodLab, line: str) -> None:
    """Add a line to slurm.conf, and let all of Slurm read it."""
    conf = "/opt/slurm/etc/slurm.conf"
    change = f"echo {line} >>{conf}; /opt/slurm/bin/scontrol reconfigure"
    lab.shell("demo", "head", user="root").run(["sh", "-c", change])


@pytest.fixture
def head(lab: HyperPodLab) -> Shell:
    head = lab.shell("demo", "head")
    head.run(["sudo", "chmod", "1777", "/fsx"])
    head.run(["sudo", "rm", "-f", "/fsx/second"])
    return head


def submit(head: Shell, script: str) -> str:
    return head.run(["sbatch", "--parsable"], stdin=script)


def log(head: Shell, job_id: str) -> list[str]:
    return head.run(["sh", "-c", f"cat /fsx/{job_id}.log 2>/dev/null || true"]).splitlines()


def state(head: Shell, job_id: str) -> str:
    return head.run(["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={job_id}"])


def cut_power(lab: HyperPodLab, name: str) -> None:
    """Let a node die without a signal: no peer is notified, and everything they send waits."""
    lab.machines.power_cut(name)


def power_off(lab: HyperPodLab, name: str) -> None:
    """Let a node end its processes, and with them their connections, in good order."""
    with contextlib.suppress(CommandFailed):  # the session ends with the node
        Shell(lab.folder, name, "root").run(["poweroff", "-ff"])


DEATHS = pytest.mark.parametrize("die", [cut_power, power_off], ids=lambda die: die.__name__)
Death = Callable[[HyperPodLab, str], None]


def start(head: Shell) -> tuple[str, str]:
    """Start the two tasks of a job; return the job and the node of its batch script."""
    job_id = submit(head, STEP)
    wait_until(lambda: len(log(head, job_id)) == 3, "the first step's tasks")
    head.run(["touch", "/fsx/second"])
    return job_id, head.run(["squeue", "--noheader", "--format=%B", f"--jobs={job_id}"])


def workers(lab: HyperPodLab) -> dict[str, str]:
    """Return the instances of the workers by their host names."""
    return {hostname(node): node["InstanceId"] for node in lab.nodes("demo", "cpu")}


@DEATHS
def test_a_step_that_lost_a_node_runs_again_in_the_same_job(
    lab: HyperPodLab, head: Shell, die: Death
) -> None:
    job_id, batch_host = start(head)
    before = workers(lab)
    (victim,) = before.keys() - {batch_host}
    die(lab, victim)
    wait_until(lambda: state(head, job_id) == "COMPLETED", "the end of the job")
    lines = log(head, job_id)
    said = [line.partition(f"JobID: {job_id} ")[2] for line in lines if "[Auto Resume]" in line]
    assert said == [
        f"StepID: 0 Task failed on node {victim}",
        "StepID: 0 Initiating communication with cluster agent to diagnose health of nodes",
        f"StepID: 0 Response from cluster agent: JobId={job_id}, ResumeAction=RETRYSTEP",
        "StepID: 0 Job failed - replacing nodes",
        "StepID: 0 Nodes are back - restarting the step",
    ]
    path = load().profile.agents.logs.autoresume
    kept = Shell(lab.folder, batch_host, "ubuntu").run(["cat", path]).splitlines()
    assert [line for line in kept if f"JobID: {job_id} " in line] == [
        line for line in lines if "[Auto Resume]" in line
    ]
    again = {f"task {task} of step 1" for task in (0, 1)}
    assert again <= {line.partition(" on ")[0] for line in lines}
    assert lines.count("script starts") == 1
    assert lines[-1] == "step ended with 0"
    after = workers(lab)
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == {victim}


@DEATHS
def test_a_job_that_lost_the_node_of_its_script_begins_again_when_that_is_back(
    lab: HyperPodLab, head: Shell, die: Death
) -> None:
    job_id, batch_host = start(head)
    before = workers(lab)
    die(lab, batch_host)
    wait_until(lambda: state(head, job_id) == "COMPLETED", "the end of the job", seconds=100)
    lines = log(head, job_id)
    assert lines.count("script starts") == 2
    assert lines[-1] == "step ended with 0"
    after = workers(lab)
    assert {name for name in after if after[name] != before[name]} == {batch_host}


def test_a_step_that_fails_by_itself_ends_with_its_status(head: Shell) -> None:
    job_id = submit(head, STEP.replace("sleep 3600", "exit 3"))
    wait_until(lambda: state(head, job_id) == "COMPLETED", "the end of the job")
    lines = log(head, job_id)
    assert lines[-1] == "step ended with 3"
    assert "ResumeAction=NONE" in "".join(lines)


def test_only_steps_have_the_option(head: Shell) -> None:
    with pytest.raises(CommandFailed, match="unrecognized option '--auto-resume=1'"):
        head.run(["sbatch", "--auto-resume=1", "--wrap=hostname"])
    with pytest.raises(CommandFailed, match="--auto-resume takes 0 or 1"):
        head.run(["srun", "--auto-resume=yes", "hostname"])
    assert head.run(["srun", "--auto-resume=0", "--partition=cpu", "hostname"])


def test_a_job_on_nodes_with_gpus_starts_from_its_beginning(lab: HyperPodLab, head: Shell) -> None:
    job_id = submit(head, GPU)
    wait_until(lambda: len(log(head, job_id)) == 2, "the first step's task")
    head.run(["touch", "/fsx/second"])
    lab.machines.power_cut(hostname(lab.nodes("demo", "gpu")[0]))
    wait_until(lambda: state(head, job_id) == "COMPLETED", "the end of the job")
    lines = log(head, job_id)
    assert lines.count("script starts") == 2
    assert lines[-1] == "step ended with 0"


def test_a_configuration_that_hyperpod_refuses_is_named(lab: HyperPodLab, head: Shell) -> None:
    configure(lab, "PrologFlags=Alloc")
    job_id = submit(head, STEP.replace("sleep 3600", "exit 3"))
    wait_until(lambda: state(head, job_id) == "COMPLETED", "the end of the job")
    said = [line.partition("StepID: 0 ")[2] for line in log(head, job_id) if "] Error" in line]
    refused = "Slurm configuration doesn't allow to resume a job."
    assert said == ["Config unsupported : PrologFlags=Alloc", refused]
