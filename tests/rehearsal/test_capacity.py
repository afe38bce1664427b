"""EC2 has fewer instances than a cluster wants: with continuous provisioning they come late."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.rehearsal.hyperpod.capacity import Shortage, no_capacity
from tests.rehearsal.conftest import PROJECT, wait_until
from tests.rehearsal.hyperpod_lab import ACCOUNT, REGION, HyperPodLab, group, hostname
from tests.rehearsal.test_life import FILE, Life

NAME = "short"
WANTED = 3
ENVIRONMENT = f"""
name: {NAME}
account: "{ACCOUNT}"
region: {REGION}
network: {{zone: us-west-2a}}
storage: {{lustre: {{}}}}
lifecycle: {{mode: extended}}
cluster:
  provisioning: continuous
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: login, role: login, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, count: {WANTED}, min_count: 1,
       partition: cpu}}
    - {{name: big, role: worker, instance_type: ml.m5.xlarge, count: 2, min_count: 2,
       partition: cpu}}
"""
"""The cluster as an environment, which commands of ours want."""


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        (lab.folder / "short.yaml").write_text(ENVIRONMENT)
        yield lab


@pytest.fixture(scope="module")
def shortage(lab: HyperPodLab) -> Shortage:
    shortage = Shortage(lab.folder)
    shortage.limit("cpu", 1)
    shortage.limit("big", 1)
    return shortage


def workers(lab: HyperPodLab, count: int) -> dict[str, Any]:
    storage = [lab.lustre_storage]
    return group("cpu", "Compute", count, MinInstanceCount=1, InstanceStorageConfigs=storage)


@pytest.fixture(scope="module")
def cluster(lab: HyperPodLab, shortage: Shortage) -> dict[str, Any]:
    storage = [lab.lustre_storage]
    return dict(
        lab.create(
            NAME,
            [
                group("head", "Controller", InstanceStorageConfigs=storage),
                group("login", "Login", InstanceStorageConfigs=storage),
                workers(lab, WANTED),
                group(
                    "big",
                    "Compute",
                    2,
                    InstanceType="ml.m5.xlarge",
                    MinInstanceCount=2,
                    InstanceStorageConfigs=storage,
                ),
            ],
            NodeProvisioningMode="Continuous",
        )
    )


def of_group(lab: HyperPodLab, name: str) -> dict[str, Any]:
    groups = lab.aws.sagemaker.describe_cluster(ClusterName=NAME)["InstanceGroups"]
    return next(dict(each) for each in groups if each["InstanceGroupName"] == name)


def has_nodes(lab: HyperPodLab, name: str, count: int) -> bool:
    return bool(of_group(lab, name)["CurrentCount"] == count)


def slurmpod(lab: HyperPodLab, *arguments: str) -> str:
    command, *rest = arguments
    shown = lab.slurmpod(command, str(lab.folder / "short.yaml"), *rest)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


def slurm_has(lab: HyperPodLab) -> set[str]:
    ask = ["sinfo", "--noheader", "--Node", "--partition=cpu", "--states=idle", "--format=%N"]
    return set(lab.shell(NAME, "login").run(ask).split())


def state_of(lab: HyperPodLab, job: str) -> str:
    ask = ["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={job}"]
    return lab.shell(NAME, "login").run(ask).strip()


def names(lab: HyperPodLab, name: str, *, running: bool = True) -> list[str]:
    """Return the nodes of a group that run, or else those that do not."""
    nodes = lab.nodes(NAME, name)
    return [hostname(x) for x in nodes if (x["InstanceStatus"]["Status"] == "Running") is running]


class TestPartialCapacity:
    def test_a_cluster_with_a_part_of_its_nodes_is_in_service_and_runs_jobs(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        assert (cluster["ClusterStatus"], cluster.get("FailureMessage")) == ("InService", None)
        wait_until(lambda: has_nodes(lab, "cpu", 1) and has_nodes(lab, "big", 1), "the first ones")
        head = lab.shell(NAME, "head", user="root")
        head.run(["install", "--directory", "--mode=777", "/fsx/jobs"])
        assert of_group(lab, "cpu")["Status"] == "InService"
        assert of_group(lab, "big")["Status"] == "Creating"  # it has not its smallest number
        login = lab.shell(NAME, "login")
        assert login.run(["srun", "--partition=cpu", f"--nodelist={names(lab, 'cpu')[0]}", "id"])

    def test_the_events_say_what_is_lacking(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        ask = lab.aws.sagemaker
        listed = ask.list_cluster_events(ClusterName=NAME, InstanceGroupName="cpu")["Events"]
        failed = [each for each in listed if each["Description"].endswith("cpu failed")]
        assert len(failed) == WANTED - 1
        told = ask.describe_cluster_event(ClusterName=NAME, EventId=failed[0]["EventId"])
        details = told["EventDetails"]["EventDetails"]["EventMetadata"]["Instance"]
        assert details["FailureMessage"] == no_capacity("ml.m5.large")

    def test_status_names_the_nodes_that_are_to_come_and_why_they_do_not(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        found = json.loads(slurmpod(lab, "status", "--json"))
        counts = {
            each["name"]: (each["in_service"], each["wanted"])
            for each in found["cluster"]["groups"]
        }
        assert (counts["cpu"], counts["big"]) == ((1, WANTED), (1, 2))
        late = [each for each in found["nodes"] if each["status"] == "Pending"]
        assert {(each["group"], each["count"], each["slurm"]) for each in late} == {
            ("cpu", WANTED - 1, "idle~"),
            ("big", 1, "idle~"),
        }
        assert all("sufficient capacity" in each["message"] for each in late)

    def test_nodes_come_one_by_one_and_a_job_that_waits_for_all_of_them_runs_then(
        self, lab: HyperPodLab, shortage: Shortage, cluster: dict[str, Any]
    ) -> None:
        login, late = lab.shell(NAME, "login"), names(lab, "cpu", running=False)
        whole = [*names(lab, "cpu"), *late]
        asks = ["--parsable", "--partition=cpu", f"--nodelist={','.join(whole)}"]
        wrapped = ["--chdir=/fsx/jobs", "--output=all", "--wrap=srun hostname"]
        job = login.run(["sbatch", *asks, *wrapped])
        wait_until(lambda: state_of(lab, job) == "CONFIGURING", "nodes that are not there")
        told = slurmpod(lab, "why", job)
        assert "it waits for ip-" in told
        assert "sufficient capacity" in told
        assert "SageMaker says Pending" in slurmpod(lab, "why", late[0])
        shortage.limit("cpu", WANTED - 1)
        wait_until(lambda: has_nodes(lab, "cpu", WANTED - 1), "one more")
        assert state_of(lab, job) == "CONFIGURING"
        shortage.limit("cpu", WANTED)
        wait_until(lambda: has_nodes(lab, "cpu", WANTED), "the last one")
        wait_until(lambda: state_of(lab, job) == "COMPLETED", "the job")
        printed = login.run(["cat", "/fsx/jobs/all"]).split()
        assert sorted(printed) == sorted(whole)

    def test_a_group_that_waits_in_vain_for_its_smallest_number_goes_back_to_none(
        self, lab: HyperPodLab, shortage: Shortage, cluster: dict[str, Any]
    ) -> None:
        shortage.limit("big", 1, hours_are_over=True)
        wait_until(lambda: of_group(lab, "big")["TargetCount"] == 0, "the end of it")
        assert lab.nodes(NAME, "big") == []
        assert of_group(lab, "cpu")["TargetCount"] == WANTED
        wait_until(lambda: slurm_has(lab) == set(names(lab, "cpu")), "Slurm's nodes")


def test_a_spot_node_that_is_taken_back_costs_no_job_and_no_record(
    lab: HyperPodLab, shortage: Shortage, cluster: dict[str, Any]
) -> None:
    shortage.end()
    wait_until(lambda: has_nodes(lab, "cpu", WANTED), "all nodes")
    login, (victim, other, *_) = lab.shell(NAME, "login"), names(lab, "cpu")
    waits = ["--partition=cpu", "--chdir=/fsx/jobs", "--parsable", "--requeue"]
    until = "--wrap=until [ -e go ]; do sleep 0.2; done"
    job = login.run(["sbatch", *waits, f"--nodelist={victim}", until])
    bystander = login.run(["sbatch", *waits, f"--nodelist={other}", until])
    both = {job, bystander}
    wait_until(lambda: {state_of(lab, each) for each in both} == {"RUNNING"}, "the jobs")
    before = lab.instance_ids(NAME, "cpu")

    shortage.limit("cpu", WANTED - 1)
    lab.machines.power_cut(victim)

    wait_until(lambda: state_of(lab, job) in ("PENDING", "CONFIGURING"), "the queue")
    wait_until(lambda: has_nodes(lab, "cpu", WANTED - 1), "one node less")
    wait_until(lambda: "sufficient capacity" in slurmpod(lab, "why", victim), "the reason")
    assert state_of(lab, bystander) == "RUNNING"
    shortage.end()
    wait_until(lambda: has_nodes(lab, "cpu", WANTED), "another one")
    wait_until(lambda: state_of(lab, job) == "RUNNING", "the job again")
    assert set(lab.instance_ids(NAME, "cpu")) - set(before)
    login.run(["touch", "/fsx/jobs/go"])
    wait_until(lambda: {state_of(lab, each) for each in both} == {"COMPLETED"}, "their end")
    ask = ["sacct", "--noheader", "--duplicates", "--allocations", "--format=State", "--jobs", job]
    assert login.run(ask).split() == ["NODE_FAIL", "COMPLETED"]


def test_updates_that_come_while_nodes_are_still_to_come_disturb_nothing(
    lab: HyperPodLab, shortage: Shortage, cluster: dict[str, Any]
) -> None:
    wait_until(lambda: len(slurm_has(lab)) == WANTED, "Slurm's nodes")
    login, (busy, *_) = lab.shell(NAME, "login"), names(lab, "cpu")
    asks = ["--partition=cpu", "--chdir=/fsx/jobs", "--parsable", f"--nodelist={busy}"]
    job = login.run(["sbatch", *asks, "--wrap=until [ -e end ]; do sleep 0.2; done"])
    wait_until(lambda: state_of(lab, job) == "RUNNING", "the job")
    shortage.limit("cpu", WANTED)
    for count in (WANTED + 1, WANTED + 2):
        assert lab.update(NAME, [workers(lab, count)])["ClusterStatus"] == "InService"
    assert (of_group(lab, "cpu")["TargetCount"], len(names(lab, "cpu"))) == (WANTED + 2, WANTED)
    shortage.end()
    wait_until(lambda: has_nodes(lab, "cpu", WANTED + 2), "the nodes of both updates")
    wait_until(lambda: len(slurm_has(lab)) == WANTED + 1, "their place in Slurm")
    assert state_of(lab, job) == "RUNNING"
    login.run(["touch", "/fsx/jobs/end"])
    wait_until(lambda: state_of(lab, job) == "COMPLETED", "the end of the job")


LATE = f"""
edition: 2026
name: life
account: "{ACCOUNT}"
region: {REGION}
network: {{zone: us-west-2a}}
storage: {{lustre: {{}}}}
cluster:
  groups:
    - {{name: controller, role: controller, instance_type: ml.m5.large}}
    - {{name: workers, role: worker, instance_type: ml.m5.large, count: 2, partition: work}}
    - {{name: more, role: worker, instance_type: ml.m5.xlarge, count: 1, partition: work}}
"""


def test_a_deployment_ends_well_and_says_which_nodes_are_still_to_come(
    lab: HyperPodLab, shortage: Shortage, tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(PROJECT / "node_modules")
    (tmp_path / "environments").mkdir()
    life = Life(lab, tmp_path, PROJECT)
    life.file.write_text(LATE)
    life.bootstrap()
    shortage.limit("workers", 1)
    shortage.limit("more", 0)

    said = life.slurmpod(f"deploy {FILE} --yes").stderr

    lacking = (
        "of {} nodes in service, 1 still to come: We currently do not have sufficient capacity"
    )
    assert f"\nworkers (ml.m5.large): 1 {lacking.format(2)}" in said
    assert f"\nmore (ml.m5.xlarge): 0 {lacking.format(1)}" in said
    assert "a job ran on ip-" in said
    assert "\nHyperPod goes on asking for these nodes; no other deployment is needed\n" in said
    assert said.endswith(f"\nnext: slurmpod status {FILE}\n")

    shortage.end()
    wait_until(lambda: lab.is_complete("life"), "the nodes without another deployment")
    again = life.slurmpod(f"deploy {FILE} --yes").stderr
    assert "still to come" not in again
    assert again.endswith(f"next: slurmpod connect {FILE}\n")
