"""Automatic node recovery: nodes that die, and those that administrators want repaired."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.shell import Shell
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import HyperPodLab, group, succeeds

JOB = """#!/bin/bash
#SBATCH --partition=cpu --exclusive --output=/dev/null
until [ -e ~/end ]; do sleep 0.2; done
"""


@pytest.fixture(scope="module")
def nohup() -> Iterator[None]:
    """Ignore SIGHUP, which identifies a machine that reboots: it must work under nohup as well."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def lab(
    nohup: None, image: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        storage = [lab.lustre_storage]
        groups = [group("head", "Controller"), group("cpu", "Compute", 2)]
        created = lab.create(
            "demo", [{**item, "InstanceStorageConfigs": storage} for item in groups]
        )
        assert (created["ClusterStatus"], created.get("FailureMessage")) == ("InService", None)
        yield lab
        lab.delete("demo")


@pytest.fixture
def head(lab: HyperPodLab) -> Iterator[Shell]:
    head = lab.shell("demo", "head")
    head.run(["rm", "-f", "/fsx/ubuntu/end"])
    yield head
    head.run(["touch", "/fsx/ubuntu/end"])  # a failed test leaves no job to the next one


def instances(lab: HyperPodLab) -> dict[str, str]:
    """Return the instance id of each worker that runs, by its host name."""
    listed = lab.aws.sagemaker.list_cluster_nodes(
        ClusterName="demo", InstanceGroupNameContains="cpu"
    )["ClusterNodeSummaries"]
    return {
        node["PrivateDnsHostname"].partition(".")[0]: node["InstanceId"]
        for node in listed
        if node["InstanceStatus"]["Status"] == "Running"
    }


def update(head: Shell, node: str, state: str, reason: str) -> None:
    head.run(
        ["sudo", "scontrol", "update", f"nodename={node}", f"state={state}", f"reason={reason}"]
    )


def state(head: Shell, node: str) -> str:
    return head.run(["sinfo", "--noheader", "--format=%T", "--partition=cpu", f"--nodes={node}"])


def wait_for_replacement(lab: HyperPodLab, head: Shell, node: str, before: str) -> None:
    wait_until(lambda: instances(lab).get(node, before) != before, f"a new {node}")
    wait_until(lambda: state(head, node) == "idle", f"{node} in service")


def submit(head: Shell, *, node: str) -> str:
    job_id = head.run(["sbatch", "--parsable", f"--nodelist={node}"], stdin=JOB)
    wait_until(lambda: job_state(head, job_id) == "RUNNING", "the job")
    return job_id


def job_state(head: Shell, job_id: str) -> str:
    return head.run(["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={job_id}"])


def records(head: Shell, job_id: str) -> list[str]:
    """Return how each run of a job ended, from Slurm's job records."""
    which = ("--noheader", "--parsable2", "--duplicates", "--allocations", "--format=State")
    return head.run(["sacct", *which, f"--jobs={job_id}"]).splitlines()


def test_a_dead_node_is_replaced_and_its_job_starts_again(lab: HyperPodLab, head: Shell) -> None:
    node, before = next(iter(instances(lab).items()))
    job_id = submit(head, node=node)
    lab.machines.power_cut(node)
    wait_until(lambda: instances(lab).get(node, before) != before, "the replacement")
    wait_until(lambda: job_state(head, job_id) == "RUNNING", "the second run", seconds=180)
    head.run(["touch", "/fsx/ubuntu/end"])
    wait_until(lambda: job_state(head, job_id) == "COMPLETED", "the job's end")
    wait_until(lambda: records(head, job_id) == ["NODE_FAIL", "COMPLETED"], "its records")
    cluster_id = lab.aws.sagemaker.describe_cluster(ClusterName="demo")["ClusterArn"][-12:]
    (finding,) = lab.aws.logs.get_log_events(
        logGroupName=f"/aws/sagemaker/Clusters/demo/{cluster_id}",
        logStreamName=f"SagemakerHealthMonitoringAgent/cpu/{before}",
    )["events"]
    assert "HealthMonitoringAgentDetectionEvent" in finding["message"]


def test_a_failing_node_is_replaced_when_its_job_has_ended(lab: HyperPodLab, head: Shell) -> None:
    (node, before), (other, other_before) = instances(lab).items()
    job_id = submit(head, node=node)
    update(head, node, "fail", "Action:Replace")
    update(head, other, "fail", "Action:Replace")
    wait_for_replacement(lab, head, other, other_before)
    assert (instances(lab)[node], job_state(head, job_id)) == (before, "RUNNING")
    head.run(["touch", "/fsx/ubuntu/end"])
    wait_for_replacement(lab, head, node, before)
    assert records(head, job_id) == ["COMPLETED"]


def test_a_node_that_is_set_down_is_replaced_at_once(lab: HyperPodLab, head: Shell) -> None:
    node, before = next(iter(instances(lab).items()))
    job_id = submit(head, node=node)
    update(head, node, "down", "Action:Replace")
    wait_until(lambda: instances(lab).get(node, before) != before, "the replacement")
    wait_until(lambda: job_state(head, job_id) == "RUNNING", "the second run", seconds=180)
    head.run(["touch", "/fsx/ubuntu/end"])
    wait_until(lambda: job_state(head, job_id) == "COMPLETED", "the job's end")


def test_a_reboot_keeps_the_instance_and_its_disk(lab: HyperPodLab, head: Shell) -> None:
    node, before = next(iter(instances(lab).items()))
    worker = lab.shell("demo", "cpu", user="root")
    worker.run(["touch", "/etc/kept", "/run/lost"])
    update(head, node, "fail", "Action:Reboot")
    wait_for_a_boot(head, worker, node)
    assert run_on(head, node, "ls", "/etc/kept") == "/etc/kept"
    assert run_on(head, node, "mountpoint", "/fsx") == "/fsx is a mountpoint"
    assert instances(lab)[node] == before


def test_slurm_keeps_a_node_down_that_rebooted_itself(lab: HyperPodLab, head: Shell) -> None:
    """Without our scripts: with them it takes jobs again, see test_profiles."""
    node, before = next(iter(instances(lab).items()))
    worker = lab.shell("demo", "cpu", user="root")
    worker.run(["touch", "/etc/kept"])
    assert any(is_down_after_a_boot(head, worker, node) for _ in range(3))
    reason = ["sinfo", "--noheader", f"--nodes={node}", "--partition=cpu", "--format=%E"]
    assert head.run(reason) == "Node unexpectedly rebooted"
    head.run(["sudo", "scontrol", "update", f"nodename={node}", "state=resume"])
    wait_for_a_boot(head, worker, node)
    assert run_on(head, node, "ls", "/etc/kept") == "/etc/kept"
    assert run_on(head, node, "mountpoint", "/fsx") == "/fsx is a mountpoint"
    assert instances(lab)[node] == before


SECONDS_OF_SLURM = 2
"""A node answers when it comes back, and its next boot has to be in a later second."""


def is_down_after_a_boot(head: Shell, worker: Shell, node: str) -> bool:
    """Let a node reboot itself, and return whether slurmctld noticed.

    It compares the boot with the node's last answer, in whole seconds: an answer in the second of
    the boot, or one to a ping before the new slurmd has registered, hides it.
    """
    before = slurmd_started(head, node)
    worker.run(["touch", "/run/lost"])
    time.sleep(SECONDS_OF_SLURM)
    succeeds(worker, "systemctl", "reboot")
    wait_until(lambda: slurmd_started(head, node) != before, "its new slurmd", seconds=240)
    return state(head, node) == "down"


def slurmd_started(head: Shell, node: str) -> str:
    shown = head.run(["scontrol", "--oneliner", "show", "node", node])
    return shown.partition("SlurmdStartTime=")[2].split()[0]


def wait_for_a_boot(head: Shell, worker: Shell, node: str) -> None:
    is_new = ("test", "!", "-e", "/run/lost")
    wait_until(lambda: succeeds(worker, *is_new), "the reboot", seconds=240)
    wait_until(lambda: state(head, node) == "idle", "the node after its reboot", seconds=120)


def run_on(head: Shell, node: str, *command: str) -> str:
    return head.run(["srun", f"--nodelist={node}", "--partition=cpu", *command])


def test_a_reason_that_is_not_exact_is_no_request(lab: HyperPodLab, head: Shell) -> None:
    (node, before), (other, other_before) = instances(lab).items()
    update(head, node, "fail", "action:replace")
    update(head, other, "fail", "Action:Replace")
    wait_for_replacement(lab, head, other, other_before)
    assert (instances(lab)[node], state(head, node)) == (before, "fail")
    head.run(["sudo", "scontrol", "update", f"nodename={node}", "state=resume"])


def test_slurmd_on_the_controller_deletes_slurm_conf(head: Shell) -> None:
    """Without our scripts; with them it is rejected: test_lifecycle_bundles."""
    head.run(["sudo", "systemctl", "start", "--no-block", "slurmd"])
    there = ["sh", "-c", "ls /opt/slurm/etc"]
    wait_until(lambda: "slurm.conf" not in head.run(there).split(), "the end of slurm.conf")
