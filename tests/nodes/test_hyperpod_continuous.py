"""Continuous provisioning, and a database for job records outside the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import HyperPodLab, group, hostname

FAILS_ONCE = """#!/bin/bash
if mkdir /fsx/tried-$(hostname); then exit 1; fi
"""
NEVER = "#!/bin/sh\nexit 1\n"


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        yield lab


def with_script(lab: HyperPodLab, name: str, script: str) -> dict[str, str]:
    return {"SourceS3Uri": lab.upload(name, {"x.sh": script}), "OnInitComplete": "x.sh"}


def described(lab: HyperPodLab, name: str) -> dict[str, Any]:
    cluster = lab.aws.sagemaker.describe_cluster(ClusterName=name)
    return {str(item["InstanceGroupName"]): item for item in cluster["InstanceGroups"]}


@pytest.fixture(scope="module")
def cluster(lab: HyperPodLab) -> Iterator[dict[str, Any]]:
    storage = [lab.lustre_storage]
    secret = lab.secret("records", username="slurm", password="a#b 'c")
    yield lab.create(
        "steady",
        [
            group("head", "Controller"),
            group("login", "Login"),
            group(
                "cpu",
                "Compute",
                MinInstanceCount=1,
                InstanceStorageConfigs=storage,
                LifeCycleConfig=with_script(lab, "once", FAILS_ONCE),
            ),
            group(
                "doomed",
                "Compute",
                2,
                MinInstanceCount=2,
                LifeCycleConfig=with_script(lab, "never", NEVER),
            ),
        ],
        NodeProvisioningMode="Continuous",
        Orchestrator={
            "Slurm": {
                "AccountingDatabase": {
                    "Endpoint": "records.example.us-west-2.rds.amazonaws.com",
                    "Port": 3307,
                    "SecretArn": secret,
                }
            }
        },
    )
    lab.delete("steady")


class TestContinuous:
    def test_it_is_in_service_before_its_workers_are(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        assert (cluster["ClusterStatus"], cluster.get("FailureMessage")) == ("InService", None)
        counts = {item["InstanceGroupName"]: item for item in cluster["InstanceGroups"]}
        assert (counts["head"]["CurrentCount"], counts["login"]["CurrentCount"]) == (1, 1)
        assert counts["cpu"]["Status"] in ("Creating", "Degraded")  # its first attempt has failed

    def test_a_worker_that_fails_is_tried_again_as_a_new_instance(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        wait_until(lambda: described(lab, "steady")["cpu"]["CurrentCount"] == 1, "the worker")
        assert described(lab, "steady")["cpu"]["Status"] == "InService"
        (name,) = map(hostname, lab.nodes("steady", "cpu"))  # those of doomed have slurmd, too
        command = ["srun", "--partition=cpu", f"--nodelist={name}", "hostname"]
        assert lab.shell("steady", "login").run(command).strip() == name

    def test_a_group_that_lacks_its_smallest_number_goes_back_to_none(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        wait_until(lambda: described(lab, "steady")["doomed"]["TargetCount"] == 0, "the end of it")
        assert lab.nodes("steady", "doomed") == []
        assert described(lab, "steady")["doomed"]["Status"] == "InService"

    def test_it_grows_while_in_service(self, lab: HyperPodLab, cluster: dict[str, Any]) -> None:
        more = group("more", "Compute")
        assert lab.update("steady", [more])["ClusterStatus"] == "InService"
        assert described(lab, "steady")["doomed"]["TargetCount"] == 0
        wait_until(lambda: described(lab, "steady")["more"]["CurrentCount"] == 1, "the new worker")
        assert lab.shell("steady", "login").run(
            ["srun", "--nodes=2", "--partition=cpu", "hostname"]
        )

    def test_job_records_are_in_the_database_outside(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        head = lab.shell("steady", "head", user="root")
        name = f"slurm_acct_db_{cluster['ClusterArn'][-12:]}"
        settings = head.run(["cat", "/opt/slurm/etc/slurmdbd.conf"]).splitlines()
        assert f"StorageLoc={name}" in settings
        assert "StorageHost=records.example.us-west-2.rds.amazonaws.com" in settings
        assert head.run(["sh", "-c", "systemctl is-active mariadb || true"]) == "inactive"
        records = lab.shell("steady", "login").run(["sacct", "--noheader", "--format=State"])
        assert "COMPLETED" in records


def test_a_controller_that_fails_fails_the_cluster(lab: HyperPodLab) -> None:
    lifecycle = with_script(lab, "head", NEVER)
    groups = [group("head", "Controller", LifeCycleConfig=lifecycle), group("cpu", "Compute")]
    failed = lab.create("headless", groups, NodeProvisioningMode="Continuous")
    assert failed["ClusterStatus"] == "Failed"
    assert "of group head" in failed["FailureMessage"]
    lab.delete("headless")


def test_a_login_node_that_never_comes_up_fails_the_cluster(lab: HyperPodLab) -> None:
    lifecycle = with_script(lab, "login", NEVER)
    groups = [group("head", "Controller"), group("login", "Login", LifeCycleConfig=lifecycle)]
    failed = lab.create("closed", groups, NodeProvisioningMode="Continuous")
    assert failed["ClusterStatus"] == "Failed"
    assert "of group login" in failed["FailureMessage"]
    lab.delete("closed")
