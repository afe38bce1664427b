"""What the API does to nodes of a cluster in service, on real nodes with real Slurm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.rehearsal.nodes.enter import enter_command
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.shell import Shell
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import ACCOUNT, REGION, HyperPodLab, group, hostname

COUNTS_ITS_RUNS = """#!/bin/bash
hostname >> /fsx/runs
touch /root/made-by-the-script
[ ! -e /fsx/$(hostname)-is-broken ]
"""
CLUSTER = "steady"


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image, ("returns-by-itself",)) as lab:
        scripts = {"SourceS3Uri": lab.upload("v1", {"x.sh": COUNTS_ITS_RUNS})}
        worker = group(
            "cpu",
            "Compute",
            2,
            InstanceStorageConfigs=[lab.lustre_storage],
            LifeCycleConfig={**scripts, "OnInitComplete": "x.sh"},
        )
        lab.create(
            CLUSTER, [group("head", "Controller"), worker], NodeProvisioningMode="Continuous"
        )
        wait_until(lambda: running(lab) == 2, "both workers")
        yield lab


def workers(lab: HyperPodLab) -> list[Any]:
    """List the workers, as describing one by one would fail while they are replaced."""
    return lab.aws.sagemaker.list_cluster_nodes(
        ClusterName=CLUSTER, InstanceGroupNameContains="cpu"
    )["ClusterNodeSummaries"]


def name_of(node: Any) -> str:
    return str(node["PrivateDnsHostname"]).partition(".")[0]


def running(lab: HyperPodLab) -> int:
    return sum(node["InstanceStatus"]["Status"] == "Running" for node in workers(lab))


def head(lab: HyperPodLab) -> Shell:
    return lab.shell(CLUSTER, "head", user="root")


def worker(lab: HyperPodLab) -> Shell:
    return lab.shell(CLUSTER, "cpu", user="root")


def runs(lab: HyperPodLab) -> int:
    """Return how often the scripts have run, on any node."""
    return len(shared_file(lab, "runs").split())


def shared_file(lab: HyperPodLab, name: str) -> str:
    (content,) = (lab.folder / "file_systems").glob(f"*/{name}")
    return content.read_text()


def idle(lab: HyperPodLab) -> list[str]:
    """Return the names of the workers that Slurm can use."""
    listed = head(lab).run(["sinfo", "--noheader", "--Node", "--partition=cpu", "--format=%N %T"])
    return [line.split()[0] for line in listed.splitlines() if line.endswith(" idle")]


def instance_ids(lab: HyperPodLab) -> list[str]:
    return [node["InstanceId"] for node in workers(lab)]


def at(lab: HyperPodLab, name: str) -> Any:
    """Return the current instance with a host name."""
    return next(node for node in workers(lab) if name_of(node) == name)


def described(lab: HyperPodLab, name: str = "cpu") -> Any:
    cluster = lab.aws.sagemaker.describe_cluster(ClusterName=CLUSTER)
    return next(each for each in cluster["InstanceGroups"] if each["InstanceGroupName"] == name)


def events(lab: HyperPodLab, **asked: Any) -> list[str]:
    """Return the descriptions of a cluster's events, oldest first."""
    listed = lab.aws.sagemaker.list_cluster_events(
        ClusterName=CLUSTER, SortOrder="Ascending", **asked
    )
    return [event["Description"] for event in listed["Events"]]


def test_a_reboot_keeps_the_disk_and_runs_no_script(lab: HyperPodLab) -> None:
    before, (first, _) = runs(lab), instance_ids(lab)
    worker(lab).run(["touch", "/root/mine"])
    answer = lab.aws.sagemaker.batch_reboot_cluster_nodes(ClusterName=CLUSTER, NodeIds=[first])

    assert answer["Successful"] == [first]
    wait_until(lambda: running(lab) == 2, "the node after its reboot")
    wait_until(lambda: len(idle(lab)) == 2, "both nodes idle by themselves")
    assert worker(lab).run(["ls", "/root"]).split() == ["made-by-the-script", "mine"]
    assert worker(lab).run(["findmnt", "--noheadings", "--output=TARGET", "/fsx"]) == "/fsx"
    assert (runs(lab), instance_ids(lab)[0]) == (before, first)
    assert events(lab, NodeId=first)[-1] == (
        f"Instance reboot {first} in Cluster steady and IG cpu completed successfully"
    )


@pytest.fixture(name="file", scope="module")
def _file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the cluster as an environment, for slurmpod's commands."""
    file = tmp_path_factory.mktemp("steady") / "steady.yaml"
    file.write_text(ENVIRONMENT)
    return file


ENVIRONMENT = f"""
name: {CLUSTER}
account: "{ACCOUNT}"
region: {REGION}
network: {{zone: us-west-2a}}
storage: {{lustre: {{}}}}
lifecycle: {{mode: extended}}
cluster:
  provisioning: continuous
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, partition: cpu, count: 2}}
"""


def test_a_node_reboots_by_command_and_its_job_runs_again(lab: HyperPodLab, file: Path) -> None:
    job = head(lab).run(["sbatch", "--parsable", "--partition=cpu", "--wrap=sleep 600"])
    wait_until(lambda: len(idle(lab)) == 1, "the job")
    name, ids = head(lab).run(["squeue", "--noheader", "--format=%N"]), instance_ids(lab)
    ended = lab.slurmpod("node", "reboot", str(file), name, "--requeue", "--yes", "--json")

    assert ended.returncode == 0, ended.stderr
    assert f"  {job}  root  wrap" in ended.stderr
    (end,) = json.loads(ended.stdout)
    assert (end["name"], end["succeeded"], end["detail"]) == (name, True, "takes jobs")
    assert instance_ids(lab) == ids
    head(lab).run(["scancel", job])
    wait_until(lambda: len(idle(lab)) == 2, "both nodes idle")


def test_a_node_is_drained_replaced_and_given_back_by_commands(
    lab: HyperPodLab, file: Path
) -> None:
    name, other = idle(lab)
    job = head(lab).run(["sbatch", "--parsable", f"--nodelist={name}", "--wrap=sleep 3"])
    wait_until(lambda: idle(lab) == [other], "the job")
    drained = lab.slurmpod("node", "drain", str(file), name, "--yes")
    assert drained.returncode == 0, drained.stderr
    assert idle(lab) == [other]
    assert f"next: slurmpod node resume {file} {name}" in drained.stderr
    assert job not in head(lab).run(["squeue", "--noheader", "--format=%i"])
    resumed = lab.slurmpod("node", "resume", str(file), name, "--yes")
    assert "takes jobs" in resumed.stdout, resumed.stderr

    old = at(lab, name)["InstanceId"]
    replaced = lab.slurmpod("node", "replace", str(file), old, "--yes")
    assert replaced.returncode == 0, replaced.stderr
    assert at(lab, name)["InstanceId"] != old
    assert sorted(idle(lab)) == [name, other]


def test_a_group_is_scaled_and_the_file_says_so(lab: HyperPodLab, file: Path) -> None:
    name, other = idle(lab)
    job = head(lab).run(["sbatch", "--parsable", f"--nodelist={other}", "--wrap=sleep 600"])
    wait_until(lambda: idle(lab) == [name], "the job")
    fewer = lab.slurmpod("scale", str(file), "cpu", "1", "--yes")
    assert fewer.returncode == 0, fewer.stderr
    assert file.read_text() == ENVIRONMENT.replace("count: 2", "count: 1")
    assert [name_of(node) for node in workers(lab)] == [other]
    assert head(lab).run(["squeue", "--noheader", "--format=%t", f"--jobs={job}"]) == "R"
    head(lab).run(["scancel", job])

    more = lab.slurmpod("node", "add", str(file), "cpu", "--yes")
    assert more.returncode == 0, more.stderr
    assert file.read_text() == ENVIRONMENT
    wait_until(lambda: len(idle(lab)) == 2, "both nodes idle")


def test_two_nodes_are_replaced_at_once_and_the_job_records_stay(lab: HyperPodLab) -> None:
    head(lab).run(["srun", "--nodes=2", "--partition=cpu", "--job-name=earlier", "true"])
    before, old, names = runs(lab), instance_ids(lab), sorted(idle(lab))
    worker(lab).run(["touch", "/root/lost"])
    lab.aws.sagemaker.batch_replace_cluster_nodes(ClusterName=CLUSTER, NodeIds=old)

    wait_until(lambda: running(lab) == 2 and runs(lab) == before + 2, "two new instances")
    wait_until(lambda: sorted(idle(lab)) == names, "the same two names")
    assert not set(old) & set(instance_ids(lab))
    assert worker(lab).run(["ls", "/root"]) == "made-by-the-script"
    assert all(new in head(lab).run(["cat", "/opt/ml/config/resource_config.json"])
               for new in instance_ids(lab))  # fmt: skip
    head(lab).run(["srun", "--nodes=2", "--partition=cpu", "true"])
    wait_until(
        lambda: "earlier" in head(lab).run(["sacct", "--noheader", "--format=JobName%20"]),
        "the record of the job before",
    )


def test_scripts_that_fail_make_a_failed_node_of_a_cluster_in_service(lab: HyperPodLab) -> None:
    first, *_ = workers(lab)
    name = name_of(first)
    broken = f"/fsx/{name}-is-broken"
    worker(lab).run(["touch", broken])
    lab.aws.sagemaker.batch_replace_cluster_nodes(
        ClusterName=CLUSTER, NodeIds=[first["InstanceId"]]
    )

    wait_until(lambda: at(lab, name)["InstanceStatus"]["Status"] == "Failure", "its failure")
    node = at(lab, name)
    assert "Lifecycle scripts did not run successfully" in node["InstanceStatus"]["Message"]
    cluster = lab.aws.sagemaker.describe_cluster(ClusterName=CLUSTER)
    assert (cluster["ClusterStatus"], described(lab)["CurrentCount"]) == ("InService", 1)
    assert described(lab)["Status"] == "Degraded"
    (failure,) = (
        event
        for event in lab.aws.sagemaker.list_cluster_events(
            ClusterName=CLUSTER, NodeId=node["InstanceId"]
        )["Events"]
        if event["EventLevel"] == "Error"
    )
    detail = lab.aws.sagemaker.describe_cluster_event(
        ClusterName=CLUSTER, EventId=failure["EventId"]
    )["EventDetails"]
    metadata = detail["EventDetails"]["EventMetadata"]["Instance"]
    assert metadata["FailureMessage"] == node["InstanceStatus"]["Message"]

    worker(lab).run(["rm", broken])
    lab.aws.sagemaker.batch_replace_cluster_nodes(ClusterName=CLUSTER, NodeIds=[node["InstanceId"]])
    wait_until(lambda: running(lab) == 2, "the node once the script works")
    assert described(lab)["Status"] == "InService"


def test_nodes_are_added_and_single_ones_deleted(lab: HyperPodLab) -> None:
    answer = lab.aws.sagemaker.batch_add_cluster_nodes(
        ClusterName=CLUSTER,
        NodesToAdd=[{"InstanceGroupName": "cpu", "IncrementTargetCountBy": 1}],
    )
    assert described(lab)["TargetCount"] == 3
    (added,) = answer["Successful"]
    wait_until(lambda: running(lab) == 3, "the third worker")
    details = lab.aws.sagemaker.describe_cluster_node(
        ClusterName=CLUSTER, NodeLogicalId=added["NodeLogicalId"]
    )["NodeDetails"]
    wait_until(lambda: hostname(details) in idle(lab), "it in Slurm")

    first, *staying = instance_ids(lab)
    lab.aws.sagemaker.batch_delete_cluster_nodes(ClusterName=CLUSTER, NodeIds=[first])
    assert described(lab)["TargetCount"] == 2
    wait_until(lambda: instance_ids(lab) == staying, "the end of the first")
    wait_until(lambda: len(idle(lab)) == 2, "Slurm without it")
    assert head(lab).run(["srun", "--nodes=2", "--partition=cpu", "true"]) == ""


def test_an_update_scales_in_and_out(lab: HyperPodLab) -> None:
    request = lab.aws.sagemaker.describe_cluster(ClusterName=CLUSTER)["InstanceGroups"]
    (cpu,) = (each for each in request if each["InstanceGroupName"] == "cpu")
    asked = {
        name: cpu[name]
        for name in ("InstanceGroupName", "InstanceType", "ExecutionRole", "LifeCycleConfig",
                     "InstanceStorageConfigs", "SlurmConfig")
    }  # fmt: skip
    lab.update(CLUSTER, [{**asked, "InstanceCount": 0}])
    wait_until(lambda: instance_ids(lab) == [], "no worker")
    assert '"Instances": null' in head(lab).run(["cat", "/opt/ml/config/resource_config.json"])
    lab.update(CLUSTER, [{**asked, "InstanceCount": 2}])
    wait_until(lambda: running(lab) == len(idle(lab)) == 2, "two workers")
    assert "InstanceGroup cpu scaling started successfully in Cluster steady" in events(
        lab, ResourceType="InstanceGroup"
    )


def test_new_software_comes_with_a_new_root_volume(lab: HyperPodLab) -> None:
    before, old = runs(lab), instance_ids(lab)
    worker(lab).run(["touch", "/root/lost"])
    policy: Any = {"MaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": 1}}
    lab.aws.sagemaker.update_cluster_software(
        ClusterName=CLUSTER,
        InstanceGroups=[{"InstanceGroupName": "cpu"}],
        DeploymentConfig={"RollingUpdatePolicy": policy},
    )
    with pytest.raises(ClientError, match="SystemUpdating status and cannot be updated"):
        lab.aws.sagemaker.update_cluster_software(ClusterName=CLUSTER)
    refused = lab.aws.sagemaker.batch_reboot_cluster_nodes(ClusterName=CLUSTER, NodeIds=old[:1])
    assert refused["Failed"][0]["ErrorCode"] == "InstanceIdInUse"

    assert lab.settled(CLUSTER).get("FailureMessage") is None
    assert (instance_ids(lab), runs(lab)) == (old, before + 2)
    assert worker(lab).run(["ls", "/root"]) == "made-by-the-script"
    assert described(lab)["SoftwareUpdateStatus"] == "Succeeded"
    assert workers(lab)[0]["LastSoftwareUpdateTime"]
    wait_until(lambda: len(idle(lab)) == 2, "both workers in Slurm")


def test_the_controller_gets_new_software_and_starts_anew(lab: HyperPodLab) -> None:
    lab.aws.sagemaker.update_cluster_software(
        ClusterName=CLUSTER, InstanceGroups=[{"InstanceGroupName": "head"}]
    )
    cluster = lab.settled(CLUSTER)
    assert cluster.get("FailureMessage") is None
    wait_until(lambda: len(idle(lab)) == 2, "the workers, which went on")
    assert head(lab).run(["srun", "--nodes=2", "--partition=cpu", "true"]) == ""


def test_all_groups_are_patched_by_one_command(lab: HyperPodLab, file: Path) -> None:
    before, old = runs(lab), instance_ids(lab)
    worker(lab).run(["touch", "/root/lost"])
    patched = lab.slurmpod("patch", str(file), "--yes")
    assert patched.returncode == 0, patched.stderr
    assert "ALL JOB RECORDS ARE LOST" in patched.stderr
    assert [line.split()[:3:2] for line in patched.stdout.splitlines()] == [
        ["ok", "head"],
        ["ok", "cpu"],
        ["ok", "cpu"],
    ]
    assert (instance_ids(lab), runs(lab)) == (old, before + 2)
    assert "lost" not in worker(lab).run(["ls", "/root"]).split()
    assert len(idle(lab)) == 2
    assert head(lab).run(["srun", "--nodes=2", "--partition=cpu", "true"]) == ""


def test_software_with_which_scripts_fail_goes_back(lab: HyperPodLab) -> None:
    first, *_ = workers(lab)
    broken = f"/fsx/{name_of(first)}-is-broken"
    worker(lab).run(["touch", broken])
    lab.aws.sagemaker.update_cluster_software(
        ClusterName=CLUSTER, InstanceGroups=[{"InstanceGroupName": "cpu"}]
    )
    cluster = lab.settled(CLUSTER)
    assert first["InstanceId"] in cluster["FailureMessage"]
    assert described(lab)["SoftwareUpdateStatus"] == "Failed"
    assert running(lab) == 1


def test_a_deletion_in_the_middle_of_a_replacement_leaves_nothing(lab: HyperPodLab) -> None:
    lab.aws.sagemaker.batch_replace_cluster_nodes(ClusterName=CLUSTER, NodeIds=instance_ids(lab))
    lab.delete(CLUSTER)
    interfaces = lab.aws.ec2.describe_network_interfaces(
        Filters=[{"Name": "description", "Values": ["HyperPod*"]}]
    )
    assert interfaces["NetworkInterfaces"] == []
    for folder in (lab.folder / "machines").glob("ip-*"):
        with pytest.raises(MachineFailed, match="is not running"):
            enter_command(lab.folder, folder.name, ["true"])
