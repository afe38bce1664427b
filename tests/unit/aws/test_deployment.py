"""What stands in an account: which stacks there are, why one failed, and which nodes."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.aws.deployment import ClusterNode, Deployment, Stack
from slurmpod.aws.errors import AwsUnavailable

STACKS = [
    {"StackName": "dev-cluster", "StackStatus": "ROLLBACK_COMPLETE"},
    {"StackName": "of-others", "StackStatus": "CREATE_COMPLETE"},
    {
        "StackName": "dev-network",
        "StackStatus": "CREATE_COMPLETE",
        "Outputs": [{"OutputKey": "VpcId", "OutputValue": "vpc-1"}],
    },
]
EVENTS = [  # CloudFormation tells the newest first
    {
        "StackId": "dev-cluster",
        "LogicalResourceId": "Cluster",
        "ResourceStatus": "CREATE_FAILED",
        "ResourceStatusReason": "no capacity",
    },
    {
        "StackId": "dev-cluster",
        "LogicalResourceId": "dev-cluster",
        "PhysicalResourceId": "dev-cluster",
        "ResourceStatus": "CREATE_IN_PROGRESS",
    },
]
NODES = {"i-1": ("worker", "10.0.0.9"), "i-2": ("head", "10.0.0.7"), "i-3": ("worker", "10.0.0.8")}


def pages(**page: Any) -> Any:
    return lambda _: SimpleNamespace(paginate=lambda **_: [page])


def refused(_: str) -> Any:
    def paginate(**_: str) -> Iterator[Any]:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "Describe")

    return SimpleNamespace(paginate=paginate)


def deployment(**clients: Any) -> Deployment:
    found: Any = SimpleNamespace(**clients)
    return Deployment(found)


def test_stacks_come_in_the_order_of_their_names_with_why_one_failed() -> None:
    cloudformation = SimpleNamespace(get_paginator=pages(Stacks=STACKS, StackEvents=EVENTS))
    names = ["dev-network", "dev-storage", "dev-cluster"]
    assert deployment(cloudformation=cloudformation).stacks(names) == (
        Stack("dev-network", "CREATE_COMPLETE", "", {"VpcId": "vpc-1"}),
        Stack("dev-cluster", "ROLLBACK_COMPLETE", "Cluster: no capacity", {}),
    )


class SageMaker:
    """A cluster whose list has all nodes, of which `details` tells what each is asked for alone."""

    def __init__(self, **details: dict[str, str]) -> None:
        self._details = {
            instance_id: details.get(instance_id.replace("-", ""), {"PrivatePrimaryIp": address})
            for instance_id, (_, address) in NODES.items()
        }
        self.asked: list[str] = []
        summaries = [
            {
                "InstanceGroupName": group,
                "InstanceId": instance_id,
                "InstanceType": "ml.m5.large",
                "InstanceStatus": {"Status": "Running"},
            }
            for instance_id, (group, _) in NODES.items()
        ]
        self.get_paginator = pages(ClusterNodeSummaries=summaries)

    def describe_cluster_node(self, ClusterName: str, NodeId: str) -> dict[str, Any]:  # noqa: N803
        assert ClusterName == "dev"
        self.asked.append(NodeId)
        details = self._details[NodeId]
        if "Code" in details:
            raise ClientError({"Error": details}, "DescribeClusterNode")  # type: ignore[typeddict-item]
        return {"NodeDetails": details}


def test_nodes_come_group_by_group_in_the_order_of_their_addresses() -> None:
    found = deployment(sagemaker=SageMaker()).cluster_nodes("dev")
    assert [node.instance_id for node in found] == ["i-2", "i-3", "i-1"]
    assert found[0] == ClusterNode("head", "i-2", "ml.m5.large", "Running", "10.0.0.7")
    assert found[0].hostname == "ip-10-0-0-7"


def test_only_nodes_that_are_wanted_are_asked_for() -> None:
    sagemaker = SageMaker()
    found = deployment(sagemaker=sagemaker).cluster_nodes("dev", ["i-3"])
    assert [node.instance_id for node in found] == ["i-3"]
    assert sagemaker.asked == ["i-3"]
    assert deployment(sagemaker=sagemaker).cluster_nodes("dev", []) == ()
    assert sagemaker.asked == ["i-3"]


def test_a_node_without_an_address_goes_by_its_id() -> None:
    found = deployment(sagemaker=SageMaker(i1={})).cluster_nodes("dev")
    assert found[1] == ClusterNode("worker", "i-1", "ml.m5.large", "Running", "")
    assert found[1].hostname == "i-1"


def test_a_node_that_goes_meanwhile_is_left_out() -> None:
    gone = {"Code": "ResourceNotFound", "Message": "Instance i-1 does not exist"}
    found = deployment(sagemaker=SageMaker(i1=gone)).cluster_nodes("dev")
    assert [node.instance_id for node in found] == ["i-2", "i-3"]


def test_a_node_that_may_not_be_described_is_told_in_a_sentence() -> None:
    refusal = {"Code": "AccessDenied", "Message": "no"}
    with pytest.raises(AwsUnavailable, match="cannot describe the nodes of dev: AccessDenied: no"):
        deployment(sagemaker=SageMaker(i1=refusal)).cluster_nodes("dev")


def test_what_aws_refuses_is_told_in_a_sentence() -> None:
    client = SimpleNamespace(get_paginator=refused)
    with pytest.raises(AwsUnavailable, match="cannot describe the stacks: AccessDenied: no"):
        deployment(cloudformation=client).stacks(["dev-network"])
    with pytest.raises(AwsUnavailable, match="cannot describe the nodes of dev: AccessDenied: no"):
        deployment(sagemaker=client).cluster_nodes("dev")
