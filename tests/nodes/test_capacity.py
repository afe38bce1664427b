"""EC2 has fewer instances than a cluster wants: with continuous provisioning they come late."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from embedded_aws.sagemaker.training_plans import TrainingPlan
from slurmpod.rehearsal.hyperpod.capacity import Shortage, no_capacity
from tests.nodes.conftest import PROJECT, wait_until
from tests.nodes.hyperpod_lab import ACCOUNT, REGION, HyperPodLab, group, hostname
from tests.nodes.test_life import FILE, Life

NAME = "short"
WANTED = 3
PLANNED, PLAN = "ml.p5.4xlarge", f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/planned"
"""The type of the nodes in another zone, which a training plan has."""
ENVIRONMENT = f"""
name: {NAME}
account: "{ACCOUNT}"
region: {REGION}
network: {{zone: us-west-2a, other_zones: [{{zone: us-west-2b}}]}}
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
    - {{name: far, role: worker, instance_type: {PLANNED}, count: 2, partition: far,
       zone: us-west-2b, training_plan_arn: {PLAN}}}
"""
"""The cluster as an environment, for slurmpod's commands."""


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
def plan(lab: HyperPodLab) -> None:
    sagemaker = lab.aws.sagemaker
    offered = sagemaker.search_training_plan_offerings(InstanceType=PLANNED, InstanceCount=2)  # type: ignore[arg-type]
    far = f"{REGION}b"
    chosen = next(
        each["TrainingPlanOfferingId"]
        for each in offered["TrainingPlanOfferings"]
        if each["ReservedCapacityOfferings"][0]["AvailabilityZone"] == far
    )
    sagemaker.create_training_plan(TrainingPlanName="planned", TrainingPlanOfferingId=chosen)


@pytest.fixture(scope="module")
def cluster(lab: HyperPodLab, shortage: Shortage, plan: None) -> dict[str, Any]:
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
                group(
                    "far",
                    "Compute",
                    2,
                    InstanceType=PLANNED,
                    InstanceStorageConfigs=storage,
                    OverrideVpcConfig=lab.network.override,
                    TrainingPlanArn=PLAN,
                    SlurmConfig={"NodeType": "Compute", "PartitionNames": ["far"]},
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


def resumed(lab: HyperPodLab) -> bool:
    """Resume nodes that Slurm takes for rebooted, as a user does; return whether all are.

    It does so with a node that boots after slurmctld has read its configuration once more.
    """
    head = lab.shell(NAME, "head", user="root")
    ask = ["sinfo", "--noheader", "--Node", "--partition=cpu", "--states=down", "--format=%N|%E"]
    rows = [line.split("|") for line in head.run(ask).splitlines()]
    names = [name for name, reason in rows if reason == "Node unexpectedly rebooted"]
    for name in names:
        head.run(["scontrol", "update", f"nodename={name}", "state=resume"])
    return not names


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
        assert of_group(lab, "big")["Status"] == "Creating"  # not its smallest number
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
    assert records_of(lab, job) == ["NODE_FAIL", "COMPLETED"]


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
    wait_until(lambda: resumed(lab) and len(slurm_has(lab)) == WANTED + 1, "their place in Slurm")
    assert state_of(lab, job) == "RUNNING"
    login.run(["touch", "/fsx/jobs/end"])
    wait_until(lambda: state_of(lab, job) == "COMPLETED", "the end of the job")


def test_a_zone_that_fails_takes_its_own_nodes_alone_and_is_named(
    lab: HyperPodLab, shortage: Shortage, cluster: dict[str, Any]
) -> None:
    wait_until(lambda: has_nodes(lab, "far", 2), "the nodes in the other zone")
    lost, job = names(lab, "far"), waiting_job(lab, "far", "--nodes=2")
    bystander = waiting_job(lab, "cpu")

    shortage.limit("far", 0)
    for each in lost:
        lab.machines.power_cut(each)

    wait_until(lambda: state_of(lab, job) == "PENDING", "the queue")
    wait_until(lambda: has_nodes(lab, "far", 0), "no node in the zone")
    assert state_of(lab, bystander) == "RUNNING"
    wait_until(lambda: "sufficient capacity" in slurmpod(lab, "why", lost[0]), "the reason")
    told = slurmpod(lab, "why")
    none = "none of its 2 nodes (far) runs, and those of other zones do"
    assert f"zone us-west-2b: {none}" in told
    assert sum("sufficient capacity" in line for line in told.splitlines()) == 1
    shown = json.loads(slurmpod(lab, "status", "--json"))
    counts = {each["name"]: each["in_service"] for each in shown["cluster"]["groups"]}
    assert (counts["far"], counts["head"], counts["login"]) == (0, 1, 1)

    shortage.end()
    wait_until(lambda: state_of(lab, job) == "RUNNING", "the job again")
    assert end_of(lab, [job, bystander]) == {"COMPLETED"}
    assert records_of(lab, job) == ["NODE_FAIL", "COMPLETED"]
    assert records_of(lab, bystander) == ["COMPLETED"]


def test_a_training_plan_that_ends_takes_its_nodes_and_says_so(
    lab: HyperPodLab, cluster: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until(lambda: has_nodes(lab, "far", 2), "the nodes of the plan")
    lost, job = names(lab, "far"), waiting_job(lab, "far", "--nodes=2")
    bystander = waiting_job(lab, "cpu")

    monkeypatch.setattr(TrainingPlan, "ends_at", datetime.now(UTC))

    wait_until(lambda: state_of(lab, job) == "PENDING", "the queue")
    wait_until(lambda: has_nodes(lab, "far", 0), "no node of the plan")
    assert state_of(lab, bystander) == "RUNNING"
    ended = "the training plan of far has ended, and its nodes went with it"
    file = lab.folder / "short.yaml"
    for subject in (job, lost[0]):
        told = slurmpod(lab, "why", subject)
        assert f"most probably: {ended}" in told
        assert f"next: reserve others: slurmpod capacity search {file} far --days 14" in told
    told = slurmpod(lab, "why")
    assert f"far: {ended}" in told
    assert "zone us-west-2b" not in told
    assert "its training plan has ended" in slurmpod(lab, "status")
    assert end_of(lab, [bystander]) == {"COMPLETED"}
    assert records_of(lab, job)[0] == "NODE_FAIL"


def waiting_job(lab: HyperPodLab, partition: str, *asks: str) -> str:
    """Return a job that runs, until `end_of` ends it."""
    login = lab.shell(NAME, "login")
    login.run(["rm", "--force", "/fsx/jobs/over"])
    waits = [f"--partition={partition}", "--chdir=/fsx/jobs", "--parsable", "--requeue", *asks]
    job = login.run(["sbatch", *waits, "--wrap=until [ -e over ]; do sleep 0.2; done"])
    wait_until(lambda: state_of(lab, job) == "RUNNING", "the job")
    return job


def end_of(lab: HyperPodLab, jobs: Sequence[str]) -> set[str]:
    """End jobs, and return their states then."""
    lab.shell(NAME, "login").run(["touch", "/fsx/jobs/over"])
    wait_until(lambda: "RUNNING" not in {state_of(lab, each) for each in jobs}, "their end")
    wait_until(lambda: "COMPLETING" not in {state_of(lab, each) for each in jobs}, "their end")
    return {state_of(lab, each) for each in jobs}


def records_of(lab: HyperPodLab, job: str) -> list[str]:
    """Return how each run of a job ended, from Slurm's records."""
    ask = ["sacct", "--noheader", "--duplicates", "--allocations", "--format=State", "--jobs", job]
    return lab.shell(NAME, "login").run(ask).split()


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

    none, why = (
        "0 of {0} nodes in service, {0} still to come",
        "We currently do not have sufficient",
    )
    # A job may run on a node before the last script there has ended.
    some = f"(1 of 2 nodes in service, 1 still to come|{none.format(2)})"
    assert re.search(rf"^workers \(ml\.m5\.large\): {some}: {why}", said, re.MULTILINE)
    assert f"\nmore (ml.m5.xlarge): {none.format(1)}: {why}" in said
    assert "a job ran on ip-" in said
    assert "\nHyperPod keeps requesting these nodes; you do not need to deploy again\n" in said
    assert said.endswith(f"\nnext: slurmpod status {FILE}\n")

    shortage.end()
    wait_until(lambda: lab.is_complete("life"), "the nodes without another deployment")
    again = life.slurmpod(f"deploy {FILE} --yes").stderr
    assert "still to come" not in again
    assert again.endswith(f"next: slurmpod connect {FILE}\n")
