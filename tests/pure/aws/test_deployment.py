"""What stands in an account: which stacks there are, and why one failed."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.aws.deployment import Deployment
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.stack import Stack

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


def test_what_aws_refuses_is_told_in_a_sentence() -> None:
    client = SimpleNamespace(get_paginator=refused)
    with pytest.raises(AwsUnavailable, match="cannot describe the stacks: AccessDenied: no"):
        deployment(cloudformation=client).stacks(["dev-network"])
