"""Ids of the embedded AWS: those that nobody chose come from the seed."""

from __future__ import annotations

import time
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from tests.cloud.embedded_networks import group, subnet, vpc
from tests.cloud.embedded_stacks import ACCOUNT, REGION, Stacks, att, ref, resource

EVERYTHING_INSIDE = {"IpProtocol": "-1", "CidrIp": "10.0.0.0/16"}
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
RESOURCES = {
    "Vpc": vpc(),
    "Subnet": subnet("10.0.0.0/24"),
    "Group": group(SecurityGroupIngress=[EVERYTHING_INSIDE]),
    "Role": resource("IAM::Role", AssumeRolePolicyDocument=TRUST),
    "Topic": resource("SNS::Topic"),
    "Key": resource("KMS::Key", KeyPolicy={"Version": "2012-10-17", "Statement": []}),
    "Secret": resource("SecretsManager::Secret", Description="a secret", SecretString="x"),
    "FileSystem": resource(
        "FSx::FileSystem",
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=[ref("Subnet")],
        SecurityGroupIds=[ref("Group")],
        LustreConfiguration={"DeploymentType": "SCRATCH_2"},
    ),
}


def _made(seed: str | None, *, looks: int) -> dict[str, Any]:
    """Return the ids of everything in a new embedded AWS, which is looked at meanwhile."""
    with EmbeddedAws(account=ACCOUNT, region=REGION, seed=seed) as aws:
        aws.start(CloudOnlyPlatform())
        clients = aws.clients()
        for _ in range(looks):
            clients.ec2.describe_vpcs()
            clients.iam.list_roles()
        outcome = Stacks(clients).deploy("all", RESOURCES, Role=att("Role", "RoleId"))
        assert outcome.status == "CREATE_COMPLETE", outcome.reasons
        (stack,) = clients.service("cloudformation").describe_stacks()["Stacks"]
        return {
            **outcome.ids,
            **outcome.outputs,
            "Stack": stack["StackId"],
            "VPCs": sorted(each["VpcId"] for each in clients.ec2.describe_vpcs()["Vpcs"]),
            "Interfaces": sorted(
                each["NetworkInterfaceId"]
                for each in clients.ec2.describe_network_interfaces()["NetworkInterfaces"]
            ),
            "Mount": clients.fsx.describe_file_systems()["FileSystems"][0]["LustreConfiguration"][
                "MountName"
            ],
            **_cluster(clients, outcome.ids),
        }


def _cluster(clients: Clients, ids: dict[str, str]) -> dict[str, str]:
    role = clients.iam.get_role(RoleName=ids["Role"])["Role"]["Arn"]
    network: Any = {"SecurityGroupIds": [ids["Group"]], "Subnets": [ids["Subnet"]]}
    arn = clients.sagemaker.create_cluster(
        ClusterName="demo",
        VpcConfig=network,
        InstanceGroups=[
            {
                "InstanceGroupName": "all",
                "InstanceType": "ml.c5.large",
                "InstanceCount": 1,
                "ExecutionRole": role,
                "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-x/y", "OnCreate": "run.sh"},
            }
        ],
    )["ClusterArn"]
    return {"Cluster": arn, "Node": _first_node(clients)}


def _first_node(clients: Clients) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        nodes = clients.sagemaker.list_cluster_nodes(ClusterName="demo")["ClusterNodeSummaries"]
        if nodes:
            return nodes[0]["InstanceId"]
    raise AssertionError("the cluster has no node")


def test_the_same_seed_and_the_same_calls_give_the_same_ids() -> None:
    first = _made("one", looks=0)
    assert _made("one", looks=3) == first
    other = _made("two", looks=0)
    assert [name for name in first if first[name] == other[name]] == []


def test_without_a_seed_every_embedded_aws_has_other_ids() -> None:
    first, second = _made(None, looks=0), _made(None, looks=0)
    assert [name for name in first if first[name] == second[name]] == []
