"""HyperPod in this process: an embedded AWS with a VPC, file systems and scripts, and real nodes.

Clusters are created with boto3 alone, independent of the project's stacks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import pytest

from embedded_aws.clients import Clients
from embedded_aws.isolation import isolated_environment
from embedded_aws.server import EmbeddedAws
from embedded_aws.service_quotas import codes_of
from slurmpod.aws.gateway import Gateway
from slurmpod.environment.catalog import instance_types
from slurmpod.operations.connect import DOCUMENT
from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.embedded_clients import embedded_clients
from slurmpod.rehearsal.hosting import MOST_INSTANCES
from slurmpod.rehearsal.hyperpod.provisioning import SharedDatabase
from slurmpod.rehearsal.hyperpod.service import hyperpod
from slurmpod.rehearsal.hyperpod.software import Software
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import network_of
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.nodes.sandbox import GATEWAY_ADDRESS
from slurmpod.rehearsal.session_plugin import variables as plugin_variables
from slurmpod.rehearsal.shell import CommandFailed, Shell
from slurmpod.rehearsal.state import JOURNAL_FILE, Request
from slurmpod.resolve import session_target
from tests.nodes.conftest import pause, wait_until

if TYPE_CHECKING:
    from types_boto3_sagemaker.type_defs import VpcConfigTypeDef

ACCOUNT = "123456789012"
REGION: Final = "us-west-2"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/nodes"
MANAGED_POLICY = "arn:aws:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy"
BUCKET = "sagemaker-lab"
OPENZFS = "fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com"
"""The DNS name of an OpenZFS file system that every lab has."""
SLURM = f"/opt/{load().profile.image.slurm_trees[-1]}"
"""The target of /opt/slurm on nodes of the default profile."""
ENDED = ("InService", "Failed")
LAST_WORDS = 8
KEEPER_STATE = "systemctl show --property=ActiveState --value slurmpod-keep"
"""Prints `inactive` on a controller once all changes of slurm.conf have reached Slurm."""


@dataclass(frozen=True)
class Network:
    """The ids of a VPC, with the VpcConfig for CreateCluster."""

    security_group: str
    subnet: str
    other_subnet: str

    @property
    def vpc_config(self) -> VpcConfigTypeDef:
        return {"SecurityGroupIds": [self.security_group], "Subnets": [self.subnet]}

    @property
    def override(self) -> VpcConfigTypeDef:
        return {"SecurityGroupIds": [self.security_group], "Subnets": [self.other_subnet]}


class HyperPodLab:
    """The platform of one rehearsal in `folder`, for clusters one after another."""

    def __init__(
        self,
        folder: Path,
        image: Path,
        profiles: Sequence[str] = (),
        database: SharedDatabase | None = None,
        newest: Software | None = None,
    ) -> None:
        self._database = database
        self.folder = folder
        self._newest = newest
        self._profiles = profiles
        self._image = image
        self._open = ExitStack()

    def __enter__(self) -> Self:
        embedded = self._open.enter_context(
            EmbeddedAws(
                account=ACCOUNT,
                region=REGION,
                instance_types=instance_types(),
                node_host=GATEWAY_ADDRESS,
                quotas={("sagemaker", code): MOST_INSTANCES for code in codes_of("sagemaker")},
            )
        )
        request = Request(
            name="lab",
            environment_file="",
            account=ACCOUNT,
            region=REGION,
            cloud_only=False,
            image=str(self._image),
            port=None,
            lifetime_seconds=3600,
            profile={},
        )
        (self.folder / "openzfs").mkdir()
        shared = {f"{OPENZFS}:/fsx": self.folder / "openzfs"}
        self.machines = Machines.start(self.folder, image=self._image, file_systems=shared)
        self._open.enter_context(self.machines)
        gateway = Gateway(embedded_clients(embedded.endpoint, request))
        profile = load(self._profiles).profile
        platform = hyperpod(
            self.machines,
            embedded,
            gateway,
            self.folder,
            profile,
            self._database,
            newest=self._newest,
        )
        embedded.start(self._open.enter_context(platform))
        self.aws: Clients = embedded.clients()
        self.variables = embedded.environment()
        self._make_role()
        self.network = self.make_network()
        self.lustre = self.make_lustre(self.network)
        self.aws.s3.create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def lustre_storage(self) -> dict[str, Any]:
        """The entry of a group's InstanceStorageConfigs for the Lustre file system."""
        return storage_of(self.lustre)

    @property
    def lustre_source(self) -> str:
        """The device for `mount -t lustre`."""
        mount_name = self.lustre["LustreConfiguration"]["MountName"]
        return f"{self.lustre['DNSName']}@tcp:/{mount_name}"

    def upload(self, prefix: str, files: Mapping[str, str]) -> str:
        """Put lifecycle scripts into the bucket and return their URI."""
        for path, content in files.items():
            self.aws.s3.put_object(Bucket=BUCKET, Key=f"{prefix}/{path}", Body=content.encode())
        return f"s3://{BUCKET}/{prefix}"

    def secret(self, name: str, **content: str) -> str:
        """Create a secret and return its ARN."""
        manager = self.aws.service("secretsmanager")
        return str(manager.create_secret(Name=name, SecretString=json.dumps(content))["ARN"])

    def create(self, name: str, groups: list[dict[str, Any]], **more: Any) -> Any:
        """Create a cluster and return its description once that has ended."""
        self.aws.sagemaker.create_cluster(
            ClusterName=name,
            InstanceGroups=groups,  # type: ignore[arg-type]
            **{"VpcConfig": self.network.vpc_config, **more},
        )
        return self.settled(name)

    def create_continuously(self, name: str, groups: list[dict[str, Any]]) -> None:
        """Create a cluster whose nodes come one by one, and wait until all of them exist."""
        created = self.create(name, groups, NodeProvisioningMode="Continuous")
        assert created.get("FailureMessage") is None
        wait_until(lambda: self.is_complete(name), "all nodes")

    def update(self, name: str, groups: list[dict[str, Any]], **more: Any) -> Any:
        """Update a cluster and return its description once that has ended."""
        self.aws.sagemaker.update_cluster(ClusterName=name, InstanceGroups=groups, **more)  # type: ignore[arg-type]
        return self.settled(name)

    def settled(self, name: str) -> Any:
        """Wait until a cluster is in service, or failed, and describe it."""
        try:
            return self._settled(name)
        except pytest.fail.Exception as late:  # the time of the test is up
            journal = (self.folder / JOURNAL_FILE).read_text(encoding="utf-8").splitlines()
            words = " | ".join(journal[-LAST_WORDS:])
            raise AssertionError(f"{name} does not come to an end; last words: {words}") from late

    def _settled(self, name: str) -> Any:
        began = time.monotonic()
        while True:
            asked = time.monotonic()
            cluster = self.aws.sagemaker.describe_cluster(ClusterName=name)
            if cluster["ClusterStatus"] in ENDED:
                return cluster
            pause(began, asked)

    def is_complete(self, name: str) -> bool:
        """Return whether all groups have all their nodes, which come one by one."""
        groups = self.aws.sagemaker.describe_cluster(ClusterName=name)["InstanceGroups"]
        return all(each["CurrentCount"] == each["TargetCount"] for each in groups)

    def delete(self, name: str) -> None:
        """Delete a cluster and wait until it is gone."""
        sagemaker = self.aws.sagemaker
        sagemaker.delete_cluster(ClusterName=name)
        wait_until(
            lambda: not sagemaker.list_clusters(NameContains=name)["ClusterSummaries"],
            "the cluster's end",
        )

    def instance_ids(self, name: str, group: str) -> list[str]:
        """List the instances of a group, oldest first, also while one is replaced."""
        listed = self.aws.sagemaker.list_cluster_nodes(
            ClusterName=name, InstanceGroupNameContains=group
        )
        return [node["InstanceId"] for node in listed["ClusterNodeSummaries"]]

    def nodes(self, name: str, group: str) -> list[Any]:
        """Describe the nodes of a group, oldest first."""
        describe = self.aws.sagemaker.describe_cluster_node
        return [
            describe(ClusterName=name, NodeId=instance_id)["NodeDetails"]
            for instance_id in self.instance_ids(name, group)
        ]

    def shell(self, name: str, group: str, *, user: str = "ubuntu") -> Shell:
        """Return a session on the first node of a group."""
        return Shell(network_of(self.folder, name), hostname(self.nodes(name, group)[0]), user)

    def in_session(self, name: str, group: str, command: str) -> str:
        """Return the output of a command in a Session Manager session on a group's first node."""
        cluster_id = self.aws.sagemaker.describe_cluster(ClusterName=name)["ClusterArn"][-12:]
        target = session_target(cluster_id, group, self.instance_ids(name, group)[0])
        started = ("aws", "ssm", "start-session", "--region", REGION, "--target", target)
        asked = ("--document-name", DOCUMENT, "--parameters", json.dumps({"command": [command]}))
        return subprocess.run(
            [*started, *asked], env=self.person(), capture_output=True, text=True, check=True
        ).stdout

    def person(self) -> dict[str, str]:
        """Return the variables of a user whose tools reach the clusters."""
        isolated = isolated_environment(os.environ, self.variables)
        return {**isolated, **plugin_variables(self.folder), "COLUMNS": "100", "NO_COLOR": "1"}

    def slurmpod(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a slurmpod command as a user would, with `more` variables."""
        command = "from slurmpod.cli.main import main; main()"
        return subprocess.run(
            [sys.executable, "-P", "-c", command, *arguments],
            env={**self.person(), **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def output(self, name: str, group: str) -> list[str]:
        """Return the output of the scripts of a group's first node, from CloudWatch Logs."""
        cluster_id = self.aws.sagemaker.describe_cluster(ClusterName=name)["ClusterArn"][-12:]
        instance_id = self.nodes(name, group)[0]["InstanceId"]
        events = self.aws.logs.get_log_events(
            logGroupName=f"/aws/sagemaker/Clusters/{name}/{cluster_id}",
            logStreamName=f"LifecycleConfig/{group}/{instance_id}",
            startFromHead=True,
        )["events"]
        return [event["message"] for event in events]

    def _make_role(self) -> None:
        """Create the role of all nodes: AWS's policy for them, and secrets."""
        self.aws.iam.create_role(
            RoleName="nodes",
            AssumeRolePolicyDocument=policy(
                Principal={"Service": "sagemaker.amazonaws.com"}, Action="sts:AssumeRole"
            ),
        )
        self.aws.iam.attach_role_policy(RoleName="nodes", PolicyArn=MANAGED_POLICY)
        self.aws.iam.put_role_policy(
            RoleName="nodes",
            PolicyName="Secrets",
            PolicyDocument=policy(Action="secretsmanager:GetSecretValue", Resource="*"),
        )

    def make_network(self) -> Network:
        """Create a VPC with two subnets, whose addresses are the same in all VPCs."""
        ec2 = self.aws.ec2
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnets = [
            ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=f"{REGION}{zone}")[
                "Subnet"
            ]["SubnetId"]
            for zone, cidr in (("a", "10.0.1.0/24"), ("b", "10.0.2.0/24"))
        ]
        group = ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=vpc)[
            "GroupId"
        ]
        among_themselves = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[among_themselves])  # type: ignore[list-item]
        return Network(group, *subnets)

    def make_lustre(self, network: Network) -> Any:
        """Create a Lustre file system in the first subnet of a VPC, and describe it."""
        return self.aws.fsx.create_file_system(
            FileSystemType="LUSTRE",
            StorageCapacity=1200,
            SubnetIds=[network.subnet],
            SecurityGroupIds=[network.security_group],
            LustreConfiguration={
                "DeploymentType": "PERSISTENT_2",
                "PerUnitStorageThroughput": 125,
            },
        )["FileSystem"]


def storage_of(lustre: Any) -> dict[str, Any]:
    """Return the entry of a group's InstanceStorageConfigs for a Lustre file system."""
    mount_name = lustre["LustreConfiguration"]["MountName"]
    return {"FsxLustreConfig": {"DnsName": lustre["DNSName"], "MountName": mount_name}}


def group(name: str, node_type: str, count: int = 1, **more: Any) -> dict[str, Any]:
    """Return an instance group with its role in Slurm from the API; workers are in `cpu`."""
    slurm: dict[str, Any] = {"NodeType": node_type}
    if node_type == "Compute":
        slurm["PartitionNames"] = ["cpu"]
    return {
        "InstanceGroupName": name,
        "InstanceType": "ml.m5.large",
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "SlurmConfig": slurm,
        **more,
    }


def policy(**statement: Any) -> str:
    """Return a policy document with one Allow statement."""
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})


def hostname(node: Any) -> str:
    """Return the host name of a described node."""
    return f"ip-{node['PrivatePrimaryIp'].replace('.', '-')}"


def succeeds(shell: Shell, *command: str) -> bool:
    """Return whether a command succeeds on a node that may be off or still booting."""
    try:
        shell.run(command)
    except (CommandFailed, MachineFailed):
        return False
    return True
