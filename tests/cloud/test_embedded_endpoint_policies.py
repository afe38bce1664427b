"""What nodes ask of AWS goes through their VPC's endpoints, whose policies have a say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from tests.cloud.embedded_networks import S3, group, interface_endpoint, subnet, vpc
from tests.cloud.embedded_stacks import ACCOUNT, REGION, Outcome, Stacks, att, ref, resource

OPEN, SHUT = "sagemaker-open", "sagemaker-shut"
CONFIG = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
SCRIPTS = {"SourceS3Uri": f"s3://{OPEN}/x", "OnCreate": "on_create.sh"}


def document(action: str, resources: Any, **more: Any) -> dict[str, Any]:
    allowing = {"Effect": "Allow", "Action": action, "Resource": resources, **more}
    return {"Version": "2012-10-17", "Statement": [allowing]}


def role(**more: Any) -> dict[str, Any]:
    trust = document("sts:AssumeRole", "*", Principal={"Service": "sagemaker.amazonaws.com"})
    del trust["Statement"][0]["Resource"]
    policies = [{"PolicyName": "all", "PolicyDocument": document("*", "*")}]
    return resource("IAM::Role", AssumeRolePolicyDocument=trust, Policies=policies, **more)


NETWORK = {
    "Vpc": vpc(),
    "Subnet": subnet("10.0.0.0/24"),
    "Group": group(),
    "Table": resource("EC2::RouteTable", VpcId=ref("Vpc")),
    "Routed": resource(
        "EC2::SubnetRouteTableAssociation", RouteTableId=ref("Table"), SubnetId=ref("Subnet")
    ),
    "S3": resource(
        "EC2::VPCEndpoint",
        VpcId=ref("Vpc"),
        ServiceName=S3,
        RouteTableIds=[ref("Table")],
        PolicyDocument=document(
            "s3:*", [f"arn:aws:s3:::{OPEN}", f"arn:aws:s3:::{OPEN}/*"], Principal="*"
        ),
    ),
    "Images": interface_endpoint(
        "Subnet", PolicyDocument=document("ecr:Describe*", "*", Principal="*")
    ),
    "Nodes": role(RoleName="nodes"),
    "Others": role(RoleName="others"),
    "Open": resource("S3::Bucket", BucketName=OPEN),
    "Shut": resource("S3::Bucket", BucketName=SHUT),
}


@pytest.fixture(scope="module")
def network(stacks: Stacks) -> Outcome:
    outputs = {"Subnet": ref("Subnet"), "Group": att("Group", "GroupId")}
    outcome = stacks.deploy("closed", NETWORK, **outputs)
    assert outcome.status == "CREATE_COMPLETE", outcome.reasons
    return outcome


@pytest.fixture(scope="module", autouse=True)
def _cluster(clients: Clients, network: Outcome) -> Iterator[None]:
    """A cluster in that network whose nodes have the role `nodes`."""
    workers = {
        "InstanceGroupName": "workers",
        "InstanceType": "ml.c5.large",
        "InstanceCount": 1,
        "ExecutionRole": f"arn:aws:iam::{ACCOUNT}:role/nodes",
        "LifeCycleConfig": SCRIPTS,
    }
    there = {
        "Subnets": [network.outputs["Subnet"]],
        "SecurityGroupIds": [network.outputs["Group"]],
    }
    sagemaker = clients.service("sagemaker")
    sagemaker.create_cluster(ClusterName="c", InstanceGroups=[workers], VpcConfig=there)
    while sagemaker.describe_cluster(ClusterName="c")["ClusterStatus"] != "InService":
        pass
    yield
    sagemaker.delete_cluster(ClusterName="c")


def session(clients: Clients, role_name: str, service: str) -> Any:
    made = clients.service("sts").assume_role(
        RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{role_name}", RoleSessionName="SageMaker"
    )["Credentials"]
    opened: Any = boto3.Session(
        aws_access_key_id=made["AccessKeyId"],
        aws_secret_access_key=made["SecretAccessKey"],
        aws_session_token=made["SessionToken"],
        region_name=REGION,
    )
    return opened.client(service, endpoint_url=clients.endpoint, config=CONFIG)


def test_a_bucket_that_the_policy_of_the_gateway_leaves_out_is_refused(clients: Clients) -> None:
    s3 = session(clients, "nodes", "s3")
    assert s3.list_objects_v2(Bucket=OPEN)["KeyCount"] == 0
    with pytest.raises(ClientError) as refused:
        s3.list_objects_v2(Bucket=SHUT)
    assert refused.value.response["Error"]["Code"] == "AccessDenied"
    assert "because no VPC endpoint policy allows the s3:ListBucket action" in str(refused.value)


def test_interface_endpoints_with_a_name_of_the_service_limit_too(clients: Clients) -> None:
    ecr = session(clients, "nodes", "ecr")
    assert ecr.describe_repositories()["repositories"] == []
    with pytest.raises(ClientError, match="no VPC endpoint policy allows the ecr:CreateRepository"):
        ecr.create_repository(repositoryName="images")


def test_who_asks_from_elsewhere_passes_no_endpoint(clients: Clients) -> None:
    assert session(clients, "others", "s3").list_objects_v2(Bucket=SHUT)["KeyCount"] == 0


def test_buckets_know_through_which_endpoint_somebody_comes(
    clients: Clients, network: Outcome
) -> None:
    denying = document(
        "s3:ListBucket",
        f"arn:aws:s3:::{OPEN}",
        Principal="*",
        Condition={"StringNotEquals": {"aws:SourceVpce": network.ids["S3"]}},
    )
    denying["Statement"][0]["Effect"] = "Deny"
    clients.s3.put_bucket_policy(Bucket=OPEN, Policy=json.dumps(denying))
    assert session(clients, "nodes", "s3").list_objects_v2(Bucket=OPEN)["KeyCount"] == 0
    with pytest.raises(ClientError, match="explicit deny in a resource-based policy"):
        session(clients, "others", "s3").list_objects_v2(Bucket=OPEN)
    clients.s3.delete_bucket_policy(Bucket=OPEN)
