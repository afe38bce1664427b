from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.stacks.synthesis import CONTEXT, example_text, only, resolved_from, synthesize

if TYPE_CHECKING:
    from tests.stacks.synthesis import Synthesized

UNCHECKED = {**CONTEXT, "@aws-cdk/core:validateAgainstDefaultRules": False}
"""The CDK's own checks know that HyperPod is not offered in those partitions yet."""


def statements(example: Synthesized) -> list[dict[str, Any]]:
    role = only(example.templates["identity"], "AWS::IAM::Role")
    return [
        statement
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]


def actions(example: Synthesized) -> set[str]:
    listed = (statement["Action"] for statement in statements(example))
    return {action for entry in listed for action in ([entry] if isinstance(entry, str) else entry)}


def test_sagemaker_and_nobody_else_assumes_the_role(example: Synthesized) -> None:
    role = only(example.templates["identity"], "AWS::IAM::Role")
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "sagemaker.amazonaws.com"}


def test_the_role_may_do_what_aws_documents_and_no_more(example: Synthesized) -> None:
    assert actions(example) == {
        "ec2:CreateNetworkInterface",
        "ec2:CreateNetworkInterfacePermission",
        "ec2:CreateTags",
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteNetworkInterfacePermission",
        "ec2:DescribeDhcpOptions",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
        "ec2:DetachNetworkInterface",
        "fsx:DescribeFileSystems",
        "s3:GetObject",
        "s3:ListBucket",
    }


def test_only_describing_and_detaching_know_no_bounds(example: Synthesized) -> None:
    unbounded = (
        statement["Action"] for statement in statements(example) if statement["Resource"] == "*"
    )
    names = [name for entry in unbounded for name in ([entry] if isinstance(entry, str) else entry)]
    assert all(":Describe" in name or name == "ec2:DetachNetworkInterface" for name in names)


def test_interfaces_are_created_in_the_own_subnet_and_group_only(dev: Synthesized) -> None:
    (create,) = (
        statement
        for statement in statements(dev)
        if statement["Action"] == "ec2:CreateNetworkInterface"
    )
    text = json.dumps(create["Resource"])
    assert "subnet/*" not in text
    assert "security-group/*" not in text


@pytest.mark.parametrize(
    ("region", "partition"),
    [("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn"), ("eu-west-1", "aws")],
)
def test_arns_name_the_partition_of_the_region(region: str, partition: str) -> None:
    text = example_text("dev").replace("us-west-2", region)
    example = synthesize(resolved_from(text), UNCHECKED)
    role = only(example.templates["identity"], "AWS::IAM::Role")
    arns = [word for word in json.dumps(role).split('"') if word.startswith("arn:")]
    literal = [arn for arn in arns if arn != "arn:"]
    assert literal
    assert all(arn.startswith(f"arn:{partition}:") for arn in literal)
    (managed_policy,) = role["ManagedPolicyArns"]
    assert {"Ref": "AWS::Partition"} in managed_policy["Fn::Join"][1]
