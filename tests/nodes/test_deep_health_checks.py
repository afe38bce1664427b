"""Deep health checks: new nodes take no jobs until they have passed, or are replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import ACCOUNT, REGION, HyperPodLab, group, hostname

LOSES_ITS_GPU_ONCE = """#!/bin/bash
if mkdir /fsx/lost; then rm /dev/nvidia0; else until [ -e /fsx/go ]; do sleep 0.1; done; fi
"""
LOSES_ITS_GPU = """#!/bin/bash
rm /dev/nvidia0
"""
UNTIL_FREE = ("--chdir=/fsx", "--wrap=until [ -e free ]; do sleep 0.2; done")
STATE = ("squeue", "--noheader", "--states=all", "--format=%T", "--jobs")
LOG = "/var/log/aws/clusters/sagemaker-deep-health-check.log"


ENVIRONMENT = f"""
name: checked
account: "{ACCOUNT}"
region: {REGION}
network: {{zone: us-west-2a}}
storage: {{lustre: {{}}}}
lifecycle: {{mode: extended}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: gpu, role: worker, instance_type: ml.g5.xlarge, partition: cpu}}
"""
"""The cluster as an environment, for slurmpod's commands."""


def statuses(lab: HyperPodLab) -> list[str]:
    """Return the status of each node with GPUs, whose instances may change at any time."""
    listed = lab.aws.sagemaker.list_cluster_nodes(
        ClusterName="checked", InstanceGroupNameContains="gpu"
    )["ClusterNodeSummaries"]
    return [node["InstanceStatus"]["Status"] for node in listed]


def test_a_node_that_fails_is_replaced_by_one_that_passes(image: Path, tmp_path: Path) -> None:
    with HyperPodLab(tmp_path, image) as lab:
        uri = lab.upload("gpu", {"x.sh": LOSES_ITS_GPU_ONCE})
        storage = [lab.lustre_storage]
        workers = group(
            "gpu",
            "Compute",
            InstanceType="ml.g5.xlarge",
            OnStartDeepHealthChecks=["InstanceStress"],
            InstanceStorageConfigs=storage,
            LifeCycleConfig={"SourceS3Uri": uri, "OnInitComplete": "x.sh"},
        )
        controllers = group("head", "Controller", InstanceStorageConfigs=storage)
        cluster = lab.create("checked", [controllers, workers])
        assert (cluster["ClusterStatus"], cluster.get("FailureMessage")) == ("InService", None)

        logs = f"/aws/sagemaker/Clusters/checked/{cluster['ClusterArn'][-12:]}"
        wait_until(lambda: len(results(lab, logs)) == 1, "the first instance's result")
        assert "ERROR: 0 GPUs of 1" in results(lab, logs)[0]
        head = lab.shell("checked", "head", user="root")
        reserved = head.run(["scontrol", "show", "reservation", "hyperpod-deep-health-check"])
        assert "State=ACTIVE" in reserved
        place = head.run(["sinfo", "--all", "--noheader", "--format=%f %R"]).splitlines()
        assert "SageMakerDeepHealthCheck:InProgress hyperpod-system-maintenance" in place

        head.run(["touch", "/fsx/go"])
        wait_until(lambda: statuses(lab) == ["Running"], "a node that passes")
        assert head.run(["srun", "--partition=cpu", "hostname"])
        assert "No reservations" in head.run(["scontrol", "show", "reservation"])
        found = lab.shell("checked", "gpu").run(["cat", LOG])
        assert found.endswith("GpuPci Count check success")
        assert len(results(lab, logs)) == 2

        file = tmp_path / "checked.yaml"
        file.write_text(ENVIRONMENT)
        checked = lab.slurmpod("node", "check", str(file), "gpu", "--deep", "--yes", "--json")
        assert checked.returncode == 0, checked.stderr
        (end,) = json.loads(checked.stdout)
        assert (end["group"], end["succeeded"], end["detail"]) == ("gpu", True, "passed")
        assert "checks of gpu: InstanceStress\n" in checked.stderr
        assert checks_on_demand(lab) == ["Done"]
        assert statuses(lab) == ["Running"]
        shown = lab.slurmpod("node", "check", str(file), "gpu")
        assert shown.stdout.startswith(f"ok  {end['name']}  gpu  Running; idle; deep health check")
        assert shown.stdout.endswith("(InstanceStress) ended\n")
        assert lab.shell("checked", "gpu").run(["grep", "-c", "success", LOG]) == "2"

        job = head.run(["sbatch", "--parsable", "--exclusive", "--partition=cpu", *UNTIL_FREE])
        wait_until(lambda: head.run([*STATE, job]) == "RUNNING", "a job with the whole node")
        check_on_demand(lab)
        journal = lab.folder / "journal.jsonl"
        wait_until(lambda: "not finished: " in journal.read_text(), "a check without room")
        assert statuses(lab) == ["DeepHealthCheckInProgress"]
        head.run(["touch", "/fsx/free"])
        wait_until(lambda: checks_on_demand(lab) == ["Done"] * 2, "the end of the second check")
        assert head.run([*STATE, job]) == "COMPLETED"
        assert len(results(lab, logs)) == 2, "the node was replaced"
        assert journal.read_text().count("not finished: ") == 1


def test_a_node_that_fails_three_times_stays_out_and_everybody_says_so(
    image: Path, tmp_path: Path
) -> None:
    with HyperPodLab(tmp_path, image) as lab:
        uri = lab.upload("gpu", {"x.sh": LOSES_ITS_GPU})
        workers = group(
            "gpu",
            "Compute",
            InstanceType="ml.g5.xlarge",
            OnStartDeepHealthChecks=["InstanceStress"],
            LifeCycleConfig={"SourceS3Uri": uri, "OnInitComplete": "x.sh"},
        )
        cluster = lab.create("checked", [group("head", "Controller"), workers])
        head = lab.shell("checked", "head", user="root")
        job = head.run(["sbatch", "--parsable", "--partition=cpu", "--wrap=true"])

        wait_until(lambda: statuses(lab) == ["Failure"], "the third failure")

        logs = f"/aws/sagemaker/Clusters/checked/{cluster['ClusterArn'][-12:]}"
        assert ["ERROR: 0 GPUs of 1" in each for each in results(lab, logs)] == [True] * 3
        assert lab.settled("checked")["ClusterStatus"] == "InService"
        assert head.run([*STATE, job]) == "PENDING"
        ask = ["sacct", "--noheader", "--allocations", "--format=State", "--jobs", job]
        assert head.run(ask).split() == ["PENDING"]

        file = tmp_path / "checked.yaml"
        file.write_text(ENVIRONMENT)
        (node,) = lab.nodes("checked", "gpu")
        told = lab.slurmpod("why", str(file), hostname(node)).stdout
        assert "most probably: SageMaker says Failure: Deep health checks failed." in told
        assert f"next: let HyperPod replace it: slurmpod node replace {file} " in told
        told = lab.slurmpod("why", str(file)).stdout
        assert f"{hostname(node)}: SageMaker says Failure: Deep health checks failed." in told
        shown = json.loads(lab.slurmpod("status", str(file), "--json").stdout)
        (row,) = [each for each in shown["nodes"] if each["group"] == "gpu"]
        assert (row["status"], row["message"]) == ("Failure", "Deep health checks failed.")
        told = lab.slurmpod("why", str(file), job).stdout
        said = "SageMaker says Failure Deep health checks failed."
        assert f"most probably: no node of cpu runs: of {hostname(node)} {said}" in told


def check_on_demand(lab: HyperPodLab) -> None:
    lab.aws.sagemaker.start_cluster_health_check(
        ClusterName="checked",
        DeepHealthCheckConfigurations=[
            {"InstanceGroupName": "gpu", "DeepHealthChecks": ["InstanceStress"]}
        ],
    )


def checks_on_demand(lab: HyperPodLab) -> list[str]:
    sagemaker: Any = lab.aws.sagemaker
    checks = sagemaker.list_cluster_operations(ClusterName="checked", Type="DeepHealthCheck")
    return [operation["Status"] for operation in checks["ClusterOperationSummaries"]]


def results(lab: HyperPodLab, logs: str) -> list[str]:
    """Return the first line of each instance's deep health checks."""
    streams = lab.aws.logs.describe_log_streams(
        logGroupName=logs, logStreamNamePrefix="DeepHealthCheckResults/"
    )["logStreams"]
    read = lab.aws.logs.get_log_events
    names = [stream["logStreamName"] for stream in streams]
    found = [read(logGroupName=logs, logStreamName=name)["events"] for name in names]
    return [events[0]["message"] for events in found if events]
