"""HyperPod's ways to set nodes up: image only, with an extension, with scripts instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from slurmpod.rehearsal.shell import CommandFailed
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import (
    ACCOUNT,
    BUCKET,
    OPENZFS,
    REGION,
    ROLE,
    HyperPodLab,
    group,
    hostname,
    storage_of,
    succeeds,
)

EXTENSION = """#!/bin/bash
set -eu
echo "$(whoami) in $PWD, home ${HOME:-unset}, $# arguments"
/opt/slurm/bin/scontrol ping
mountpoint /fsx
touch /fsx/extended-$(hostname)
"""


RESOURCES = "/opt/ml/config/resource_config.json"
SLURMD_ANSWERS = ("sh", "-c", 'nc -zw 3 "$1" 6818', "sh")
METADATA = """\
at=http://169.254.169.254/latest
token=$(curl -sX PUT $at/api/token -H "X-aws-ec2-metadata-token-ttl-seconds: 60")
for path in instance-id instance-type placement/availability-zone iam/security-credentials/; do
    curl -s -H "X-aws-ec2-metadata-token: $token" $at/meta-data/$path; echo
done
"""


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        yield lab


@pytest.fixture(scope="module")
def groups(lab: HyperPodLab) -> dict[str, dict[str, Any]]:
    """The groups of the cluster `extended`, with their common settings."""
    uri = lab.upload("extended", {"extend.sh": EXTENSION})
    common: dict[str, Any] = {
        "LifeCycleConfig": {"SourceS3Uri": uri, "OnInitComplete": "extend.sh"},
        "InstanceStorageConfigs": [
            lab.lustre_storage,
            {"FsxOpenZfsConfig": {"DnsName": OPENZFS}},
        ],
    }
    elsewhere = {"OverrideVpcConfig": lab.network.override, **common}
    return {
        "head": group("head", "Controller", **common),
        "login": group("login", "Login", **common),
        "cpu": group("cpu", "Compute", 2, **elsewhere),
        "later": group("later", "Compute", 0, **common),
    }


@pytest.fixture(scope="module")
def cluster(lab: HyperPodLab, groups: dict[str, dict[str, Any]]) -> Any:
    return lab.create("extended", list(groups.values()))


class TestExtended:
    """OnInitComplete: HyperPod starts Slurm and mounts the file systems, then the script runs."""

    def test_the_cluster_is_in_service(self, cluster: dict[str, Any]) -> None:
        assert (cluster["ClusterStatus"], cluster.get("FailureMessage")) == ("InService", None)
        counts = {
            item["InstanceGroupName"]: item["CurrentCount"] for item in cluster["InstanceGroups"]
        }
        assert counts == {"head": 1, "login": 1, "cpu": 2, "later": 0}

    def test_the_script_ran_as_on_hyperpod_after_slurm_was_up(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        for name in ("head", "login", "cpu"):
            first, *lines, last = lab.output("extended", name)
            assert first == "[SageMaker] Downloading lifecycle scripts"
            assert lines[0] == "root in /tmp/sagemaker-lab/extended, home unset, 0 arguments"
            assert lines[1].endswith("is UP")
            assert last == "[SageMaker] The lifecycle scripts succeeded."

    def test_the_aws_cli_of_nodes_reaches_the_embedded_aws(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        arn = lab.secret("word", password="sesame")
        login = lab.shell("extended", "login")
        which = ("--secret-id", arn, "--query", "SecretString", "--output", "text")
        printed = login.run(["aws", "secretsmanager", "get-secret-value", *which])
        assert json.loads(printed) == {"password": "sesame"}
        listed = login.run(["aws", "s3", "ls", f"s3://{BUCKET}/extended/"])
        assert listed.split()[-1] == "extend.sh"

    def test_nodes_know_themselves_from_their_metadata(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        for name in ("login", "cpu"):
            node = lab.nodes("extended", name)[0]
            known = lab.shell("extended", name).run(["sh", "-c", METADATA]).split()
            assert known == [
                node["InstanceId"],
                "m5.large",
                node["Placement"]["AvailabilityZone"],
                "nodes",
            ]

    def test_what_reads_its_credentials_there_has_those_of_the_role(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        identity = ("sts", "get-caller-identity", "--query", "Arn", "--output", "text")
        leads = '. /etc/rehearsal/aws; export AWS_ENDPOINT_URL AWS_DEFAULT_REGION="$AWS_REGION"'
        drops = "unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN"
        command = f"{leads}; {drops}; /usr/bin/aws {' '.join(identity)}"
        printed = lab.shell("extended", "login").run(["sh", "-c", command])
        assert printed == f"arn:aws:sts::{ACCOUNT}:assumed-role/nodes/SageMaker"

    def test_a_job_from_the_login_node_runs_on_workers_that_share_files(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        login = lab.shell("extended", "login")
        workers = {hostname(node) for node in lab.nodes("extended", "cpu")}
        command = "echo $HOME; ls /fsx; touch ~/from-$(hostname)"
        printed = login.run(["srun", "--nodes=2", "--partition=cpu", "sh", "-c", command])
        assert {f"extended-{name}" for name in workers} <= set(printed.split())
        assert "/home/ubuntu" in printed.split()
        files = login.run(["ls", "/home/ubuntu"]).split()
        assert {f"from-{name}" for name in workers} <= set(files)
        assert "COMPLETED" in login.run(["sacct", "--noheader", "--format=State"])

    def test_workers_of_another_zone_are_in_its_subnet(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        nodes = lab.nodes("extended", "cpu")
        assert {node["Placement"]["AvailabilityZone"] for node in nodes} == {f"{REGION}b"}
        assert all(node["PrivatePrimaryIp"].startswith("10.0.2.") for node in nodes)

    def test_partitions_without_nodes_exist(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        printed = lab.shell("extended", "login").run(["sinfo", "--noheader", "--format=%R %D %t"])
        assert sorted(printed.splitlines()) == ["cpu 2 idle", "dev 3 idle"]

    def test_a_user_reaches_workers_by_ssh_without_a_password(
        self, lab: HyperPodLab, cluster: dict[str, Any]
    ) -> None:
        worker = hostname(lab.nodes("extended", "cpu")[0])
        options = ("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no")
        printed = lab.shell("extended", "login").run(["ssh", *options, worker, "hostname"])
        assert printed.splitlines()[-1] == worker

    def test_it_grows_shrinks_and_changes_its_groups(
        self, lab: HyperPodLab, cluster: dict[str, Any], groups: dict[str, dict[str, Any]]
    ) -> None:
        login = lab.shell("extended", "login")
        head = lab.shell("extended", "head", user="root")
        kept = lab.nodes("extended", "cpu")[0]["InstanceId"]
        head.run(["sh", "-c", "echo SchedulerTimeSlice=31 >>/opt/slurm/etc/slurm.conf"])

        grown = lab.update(
            "extended",
            [{**groups["cpu"], "InstanceCount": 3}, {**groups["later"], "InstanceCount": 1}],
        )
        assert (grown["ClusterStatus"], grown.get("FailureMessage")) == ("InService", None)
        assert len(login.run(["srun", "--nodes=4", "--partition=cpu", "hostname"]).split()) == 4
        assert "SchedulerTimeSlice      = 31" in login.run(["scontrol", "show", "config"])

        shrunk = lab.update(
            "extended", [{**groups["cpu"], "InstanceCount": 1}], InstanceGroupsToDelete=["later"]
        )
        assert (shrunk["ClusterStatus"], shrunk.get("FailureMessage")) == ("InService", None)
        assert [node["InstanceId"] for node in lab.nodes("extended", "cpu")] == [kept]
        assert lab.nodes("extended", "later") == []
        nodes = login.run(["sinfo", "--noheader", "--Node", "--format=%N %R"]).splitlines()
        assert len([line for line in nodes if line.endswith(" cpu")]) == 1
        instances = json.loads(head.run(["cat", "/opt/ml/config/resource_config.json"]))
        names = [item["Name"] for item in instances["InstanceGroups"]]
        assert names == ["head", "login", "cpu"]
        assert login.run(["srun", "--partition=cpu", "hostname"]) == hostname(
            lab.nodes("extended", "cpu")[0]
        )

    def test_an_update_whose_scripts_fail_leaves_everything_as_it_was(
        self, lab: HyperPodLab, cluster: dict[str, Any], groups: dict[str, dict[str, Any]]
    ) -> None:
        bad = lab.upload("bad", {"extend.sh": "#!/bin/sh\necho no licence\nexit 3\n"})
        before = lab.nodes("extended", "cpu")
        changed = {
            **groups["cpu"],
            "InstanceCount": len(before) + 1,
            "LifeCycleConfig": {"SourceS3Uri": bad, "OnInitComplete": "extend.sh"},
        }
        after = lab.update("extended", [changed])
        assert after["ClusterStatus"] == "InService"
        assert "Last line: no licence" in after["FailureMessage"]
        assert lab.nodes("extended", "cpu") == before
        assert lab.shell("extended", "login").run(["srun", "--partition=cpu", "hostname"])

    def test_partitions_that_others_changed_are_drift_under_managed(
        self, lab: HyperPodLab, cluster: dict[str, Any], groups: dict[str, dict[str, Any]]
    ) -> None:
        head = lab.shell("extended", "head", user="root")
        line = "PartitionName=mine State=UP"
        head.run(["sh", "-c", f"echo {line} >>/opt/slurm/etc/slurm.conf"])
        slurm = {"Slurm": {"SlurmConfigStrategy": "Managed"}}
        refused = lab.update("extended", [groups["login"]], Orchestrator=slurm)
        assert "Partition configuration drift detected" in refused["FailureMessage"]
        slurm["Slurm"]["SlurmConfigStrategy"] = "Overwrite"
        forced = lab.update("extended", [groups["login"]], Orchestrator=slurm)
        assert "FailureMessage" not in forced
        assert line not in head.run(["cat", "/opt/slurm/etc/slurm.conf"])

    def test_the_api_and_a_file_beside_the_scripts_cannot_both_tell_about_slurm(
        self, lab: HyperPodLab
    ) -> None:
        uri = lab.upload("both", {"extend.sh": "", "provisioning_parameters.json": "{}"})
        lifecycle = {"SourceS3Uri": uri, "OnInitComplete": "extend.sh"}
        failed = lab.create("both", [group("head", "Controller", LifeCycleConfig=lifecycle)])
        assert failed["ClusterStatus"] == "Failed"
        assert failed["FailureMessage"] == (
            "The LifeCycleConfig cannot include both a SLURM Orchestrator Config and a "
            "provisioning_parameters.json file simultaneously."
        )
        lab.aws.sagemaker.delete_cluster(ClusterName="both")


@pytest.fixture(scope="class")
def managed(lab: HyperPodLab, cluster: dict[str, Any]) -> Iterator[Any]:
    network = lab.make_network()
    storage = [storage_of(lab.make_lustre(network))]
    groups = [
        group("head", "Controller", InstanceStorageConfigs=storage),
        group("login", "Login", InstanceStorageConfigs=storage),
        group("cpu", "Compute", InstanceStorageConfigs=storage),
    ]
    yield lab.create("managed", groups, VpcConfig=network.vpc_config)
    lab.delete("managed")


class TestManaged:
    """No LifeCycleConfig: the image does everything.

    It is in another VPC than the cluster `extended`, with the same addresses.
    """

    def test_a_job_from_the_login_node_runs_on_a_worker(
        self, lab: HyperPodLab, managed: dict[str, Any]
    ) -> None:
        assert managed.get("FailureMessage") is None
        assert "LifeCycleConfig" not in managed["InstanceGroups"][0]
        login = lab.shell("managed", "login")
        command = "hostname; df --output=target /fsx | tail -1; echo $HOME"
        printed = login.run(["srun", "--partition=cpu", "sh", "-c", command])
        worker = hostname(lab.nodes("managed", "cpu")[0])
        assert printed.split() == [worker, "/fsx", "/fsx/ubuntu"]
        assert "COMPLETED" in login.run(["sacct", "--noheader", "--format=State"])

    @pytest.mark.parametrize("name", ["extended", "managed"])
    def test_nodes_of_two_vpcs_have_the_same_names_and_are_not_mistaken(
        self, lab: HyperPodLab, managed: dict[str, Any], name: str
    ) -> None:
        node, login = lab.nodes(name, "login")[0], lab.shell(name, "login")
        assert hostname(node) == "ip-10-0-1-5"
        assert login.run(["sh", "-c", METADATA]).split()[0] == node["InstanceId"]
        assert f'"ClusterName": "{name}"' in lab.in_session(name, "login", f"cat {RESOURCES}")
        assert ACCOUNT in login.run(["aws", "sts", "get-caller-identity", "--output", "text"])
        ran = login.run(["srun", "--partition=cpu", f"--job-name={name}", "hostname"])
        assert ran == hostname(lab.nodes(name, "cpu")[0])
        jobs = login.run(["sacct", "--noheader", "--allocations", "--format=JobName%20"]).split()
        assert {"extended", "managed"} & set(jobs) == {name}

    def test_nodes_of_two_vpcs_never_reach_each_other(
        self, lab: HyperPodLab, managed: dict[str, Any]
    ) -> None:
        names = ("extended", "managed")
        addresses = {name: lab.nodes(name, "cpu")[0]["PrivatePrimaryIp"] for name in names}
        for name in names:
            login = lab.shell(name, "login")
            reached = {of for of in names if succeeds(login, *SLURMD_ANSWERS, addresses[of])}
            assert reached == {name}

    def test_a_file_system_that_cannot_be_mounted_fails_the_cluster(self, lab: HyperPodLab) -> None:
        wrong = {"FsxLustreConfig": {**lab.lustre_storage["FsxLustreConfig"], "MountName": "wrong"}}
        failed = lab.create("broken", [group("head", "Controller", InstanceStorageConfigs=[wrong])])
        assert "The image's own configuration failed" in failed["FailureMessage"]
        assert "No such file or directory" in failed["FailureMessage"]
        lab.delete("broken")


ON_CREATE = """#!/bin/bash
set -eux
mkdir -p /fsx
mount -t lustre SOURCE /fsx
me=$(hostname -I | tr -d ' ')
config=/opt/ml/config/resource_config.json
members() {
    jq -r --arg group "$1" '.InstanceGroups[] | select(.Name == $group)
        | .Instances[].CustomerIpAddress' "$config"
}
if members heads | grep -qx "$me"; then
    until grep -q ^PartitionName= /opt/slurm/etc/slurm.conf; do sleep 0.1; done
    mkdir -p /fsx/state
    chown slurm: /fsx/state
    sed -i s,^StateSaveLocation=.*,StateSaveLocation=/fsx/state, /opt/slurm/etc/slurm.conf
    systemctl enable --now slurmctld
else
    for head in $(members heads); do
        until (exec 3<>"/dev/tcp/$head/6817") 2>/dev/null; do sleep 0.2; done
    done
    servers=$(members heads | sed 's/$/:6817/' | paste -sd,)
    echo "SLURMD_OPTIONS=--conf-server=$servers" >/opt/slurm/etc/default/slurmd
    systemctl enable --now slurmd
fi
"""


LATE = """#!/bin/bash
set -eu
mkdir -p /etc/systemd/system/slurmd.service.d
cat >/etc/systemd/system/slurmd.service.d/again.conf <<'UNIT'
[Unit]
StartLimitIntervalSec=0
[Service]
Restart=on-failure
RestartSec=0.5
UNIT
systemctl daemon-reload
config=/opt/ml/config/resource_config.json
controller=$(jq -r .ClusterConfig.SlurmConfig.PrimaryControllerIp $config)
echo "SLURMD_OPTIONS=--conf-server=$controller:6817" >/opt/slurm/etc/default/slurmd
systemctl enable --now slurmd || echo "slurmd does not start"
said="Unable to determine this slurmd's NodeName"
for _ in $(seq 300); do # the journal may be written later
    if journalctl --unit slurmd | grep -q "$said"; then exit 0; fi
    sleep 0.2
done
exit 1
"""


def own_scripts(
    lab: HyperPodLab, name: str, scripts: dict[str, str], **more: Any
) -> dict[str, str]:
    """Upload OnCreate scripts for a controller group `heads` and workers; return a LifeCycleConfig.

    The entry script is the first one; every other group named in `more` is one of workers.
    """
    parameters = {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": "heads",
        **more,
    }
    files = {**scripts, "provisioning_parameters.json": json.dumps(parameters)}
    return {"SourceS3Uri": lab.upload(name, files), "OnCreate": next(iter(scripts))}


def unplaced(name: str, count: int, lifecycle: dict[str, str]) -> dict[str, Any]:
    """Return a group whose role in Slurm is not in the API."""
    return {
        "InstanceGroupName": name,
        "InstanceType": "ml.m5.large",
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": lifecycle,
    }


class TestOwnScripts:
    """provisioning_parameters.json and OnCreate scripts: several controllers, and a late group."""

    ENDPOINT = "records.example.us-west-2.rds.amazonaws.com"
    CPU: Final = {"instance_group_name": "cpu", "partition_name": "cpu"}

    @pytest.fixture(scope="class")
    @classmethod
    def lifecycle(cls, lab: HyperPodLab) -> dict[str, str]:
        return own_scripts(
            lab,
            "several",
            {"on_create.sh": ON_CREATE.replace("SOURCE", lab.lustre_source)},
            worker_groups=[cls.CPU],
            slurm_configurations={
                "slurm_database_endpoint": cls.ENDPOINT,
                "slurm_database_secret_arn": lab.secret("several", password="it's #1"),
                "slurm_shared_directory": "/fsx",
            },
        )

    def test_both_controllers_and_the_database_are_there(
        self, lab: HyperPodLab, lifecycle: dict[str, str]
    ) -> None:
        groups = [unplaced("heads", 2, lifecycle), unplaced("cpu", 1, lifecycle)]
        cluster = lab.create("several", groups)
        assert cluster.get("FailureMessage") is None
        primary, backup = (hostname(node) for node in lab.nodes("several", "heads"))
        worker = lab.shell("several", "cpu")
        wait_until(lambda: succeeds(worker, "scontrol", "ping"), "the worker's configuration")
        assert worker.run(["scontrol", "ping"]).splitlines() == [
            f"Slurmctld(primary) at {primary} is UP",
            f"Slurmctld(backup) at {backup} is UP",
        ]
        assert worker.run(["srun", "hostname"]) == hostname(lab.nodes("several", "cpu")[0])
        login = ["mariadb", f"--host={self.ENDPOINT}", "--user=admin", "--execute=SELECT 1"]
        lab.shell("several", "heads").run([*login, "--password=it's #1"])
        with pytest.raises(CommandFailed, match="Access denied"):
            lab.shell("several", "heads").run([*login, "--password=other"])

    def test_slurm_learns_of_a_new_groups_nodes_when_their_scripts_have_ended(
        self, lab: HyperPodLab, lifecycle: dict[str, str]
    ) -> None:
        late = own_scripts(
            lab,
            "late",
            {"late.sh": LATE},
            worker_groups=[self.CPU, {"instance_group_name": "late", "partition_name": "late"}],
        )
        groups = [unplaced("heads", 2, late), unplaced("cpu", 1, late), unplaced("late", 1, late)]
        cluster = lab.update("several", groups)
        assert cluster.get("FailureMessage") is None
        assert "slurmd does not start" in lab.output("several", "late")
        worker = lab.shell("several", "cpu")
        wait_until(
            lambda: succeeds(worker, "srun", "--partition=late", "hostname"), "the late node"
        )
        lab.delete("several")
