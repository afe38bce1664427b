from __future__ import annotations

import json
from typing import Any

import pytest

from slurmpod.permissions.registry import NARROWED_BY_NOTHING
from slurmpod.rules.limits import policy_characters
from tests.cluster_environments import EXTENDED, MANAGED, MULTI_HEAD
from tests.pure.permissions.test_registry import WITHOUT_RESOURCES
from tests.templates.synthesis import (
    CONTEXT,
    Synthesized,
    example_text,
    of_type,
    only,
    resolved_from,
    synthesize,
    synthesized_file,
)

NOTHING: dict[str, Any] = {"Resources": {}}

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


def test_the_role_may_do_what_its_nodes_need_and_no_more(dev: Synthesized) -> None:
    assert actions(dev) == {
        "cloudwatch:PutMetricData",
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
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
        "s3:GetObject",
        "s3:ListBucket",
        "ssmmessages:CreateControlChannel",
        "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel",
        "ssmmessages:OpenDataChannel",
    }


def test_no_policy_of_aws_is_on_a_role_that_nobody_asked_for(example: Synthesized) -> None:
    assert "ManagedPolicyArns" not in only(example.templates["identity"], "AWS::IAM::Role")


def test_everything_is_allowed_only_where_iam_knows_nothing_narrower(
    environments: dict[str, Synthesized],
) -> None:
    for example in environments.values():
        for role in of_type(example.templates.get("identity", NOTHING), "AWS::IAM::Role").values():
            for statement in role_statements(role["Properties"]):
                if statement["Resource"] == "*":
                    assert set(as_list(statement["Action"])) <= wide_actions()


def wide_actions() -> set[str]:
    return WITHOUT_RESOURCES | NARROWED_BY_NOTHING.keys()


def role_statements(role: dict[str, Any]) -> list[dict[str, Any]]:
    return [s for policy in role["Policies"] for s in policy["PolicyDocument"]["Statement"]]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_interfaces_are_created_in_the_own_subnet_and_group_only(dev: Synthesized) -> None:
    (create,) = (
        statement
        for statement in statements(dev)
        if statement["Action"] == "ec2:CreateNetworkInterface"
    )
    text = json.dumps(create["Resource"])
    assert "subnet/*" not in text
    assert "security-group/*" not in text


@pytest.fixture(scope="module")
def full() -> Synthesized:
    return synthesize(resolved_from(EXTENDED))


def statement_with(example: Synthesized, action: str) -> dict[str, Any]:
    """Return the one statement that allows an action."""
    (found,) = (
        statement
        for statement in all_statements(example)
        if action == statement["Action"] or action in statement["Action"]
    )
    return found


def all_statements(example: Synthesized) -> list[dict[str, Any]]:
    """Return the statements of the role and of the policies beside it."""
    policies = of_type(example.templates["identity"], "AWS::IAM::Policy").values()
    attached = [
        statement
        for policy in policies
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]
    return [*statements(example), *attached]


def test_interfaces_may_be_created_in_the_subnets_of_all_zones(full: Synthesized) -> None:
    create = statement_with(full, "ec2:CreateNetworkInterface")
    resources = [json.dumps(resource) for resource in create["Resource"]]
    assert sum(":subnet/" in resource for resource in resources) == 2
    assert sum(":security-group/" in resource for resource in resources) == 1


def test_an_existing_network_is_named_by_its_ids() -> None:
    text = MANAGED.replace(
        "network: {zone: usw2-az2}",
        "network: {zone: usw2-az2, existing: {vpc_id: vpc-0a1b2c3d4e5f60718, "
        "subnets: [{id: subnet-0a1b2c3d4e5f60718, zone: usw2-az2}], "
        "security_group_ids: [sg-0a1b2c3d, sg-1a1b2c3d]}}",
    )
    create = statement_with(synthesize(resolved_from(text)), "ec2:CreateNetworkInterface")
    assert {arn.rpartition(":")[2] for arn in create["Resource"]} == {
        "network-interface/*",
        "subnet/subnet-0a1b2c3d4e5f60718",
        "security-group/sg-0a1b2c3d",
        "security-group/sg-1a1b2c3d",
    }


def test_buckets_are_read_and_written_below_their_prefix_only(full: Synthesized) -> None:
    by_id = {statement["Sid"]: statement for statement in all_statements(full)}
    assert by_id["ListBucket1"]["Resource"] == "arn:aws:s3:::my-images"
    assert "Condition" not in by_id["ListBucket1"]
    assert by_id["UseObjects1"]["Action"] == "s3:GetObject"
    assert by_id["UseObjects1"]["Resource"] == "arn:aws:s3:::my-images/*"
    assert "UseBucketKey1" not in by_id
    assert by_id["ListBucket2"]["Condition"] == {"StringLike": {"s3:prefix": "runs/*"}}
    assert by_id["UseObjects2"]["Resource"] == "arn:aws:s3:::my-results/runs/*"
    assert by_id["UseObjects2"]["Action"] == [
        "s3:AbortMultipartUpload",
        "s3:GetObject",
        "s3:PutObject",
    ]
    assert by_id["UseBucketKey2"]["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]


def test_objects_of_a_bucket_that_is_only_read_are_only_decrypted() -> None:
    example = synthesize(resolved_from(EXTENDED.replace("read_only: false", "read_only: true")))
    assert statement_with(example, "kms:Decrypt")["Action"] == "kms:Decrypt"
    assert not any("s3:PutObject" in statement["Action"] for statement in all_statements(example))


def test_volumes_are_encrypted_with_the_keys_that_groups_name(full: Synthesized) -> None:
    grant = statement_with(full, "kms:CreateGrant")
    assert grant["Action"] == ["kms:CreateGrant", "kms:DescribeKey"]
    assert [arn.rpartition("/")[2][:8] for arn in grant["Resource"]] == ["1" * 8, "2" * 8]


def test_the_password_of_the_database_can_be_read(full: Synthesized) -> None:
    secret = "arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf"
    assert statement_with(full, "secretsmanager:GetSecretValue")["Resource"] == secret


def test_alarms_are_seen_where_they_turn_updates_back(full: Synthesized) -> None:
    assert statement_with(full, "cloudwatch:DescribeAlarms")["Resource"] == "*"
    without = EXTENDED.replace("rollback_alarms: [idle-gpus, hot-gpus]", "")
    assert not any(
        statement["Action"] == "cloudwatch:DescribeAlarms"
        for statement in all_statements(synthesize(resolved_from(without)))
    )


def test_takeovers_are_published() -> None:
    example = synthesize(resolved_from(MULTI_HEAD))
    topic = "arn:aws:sns:us-west-2:123456789012:slurm-failover"
    assert statement_with(example, "sns:Publish")["Resource"] == topic


def test_without_scripts_and_file_systems_nothing_is_allowed_for_them() -> None:
    text = MANAGED.replace("cluster:\n", "storage: {lustre: null}\ncluster:\n")
    example = synthesize(resolved_from(text))
    assert not {name for name in actions(example) if name.startswith(("s3:", "fsx:"))}


def test_the_policies_are_no_longer_than_the_rule_counts() -> None:
    groups = "".join(
        f"    - {{name: w{n}, role: worker, instance_type: ml.m5.xlarge, partition: p, count: 0, "
        f"volume_gib: 1, volume_kms_key_arn: {KEY.format(n)}}}\n"
        for n in range(70)
    )
    example = synthesize(resolved_from(EXTENDED.replace("slurm:\n", f"{groups}slurm:\n", 1)))
    documents = [
        policy["PolicyDocument"]
        for policy in only(example.templates["identity"], "AWS::IAM::Role")["Policies"]
    ]
    documents.append(only(example.templates["identity"], "AWS::IAM::Policy")["PolicyDocument"])
    length = sum(len(as_deployed(document)) for document in documents)
    assert length < policy_characters(example.resolved) < length + 1500


KEY = "arn:aws:kms:us-west-2:123456789012:key/{:08d}-1234-1234-1234-123456789012"


def as_deployed(document: dict[str, Any]) -> str:
    """Return a policy with ids in place of references, without the spaces that IAM skips."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict) and "Fn::Join" in value:
            return "".join(map(plain, value["Fn::Join"][1]))
        if isinstance(value, dict) and "Fn::GetStackOutput" in value:
            return "subnet-0a1b2c3d4e5f60718"
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return json.dumps(plain(document), separators=(",", ":"))


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


PEOPLE = """
identity:
  data_buckets: [{bucket: our-data, access: write}]
  policy_arns: [arn:aws:iam::123456789012:policy/tracking]
"""


def test_data_buckets_and_further_policies_are_for_the_role() -> None:
    template = synthesize(resolved_from(EXTENDED + PEOPLE)).templates["identity"]
    role = only(template, "AWS::IAM::Role")
    assert role["ManagedPolicyArns"] == ["arn:aws:iam::123456789012:policy/tracking"]
    names = {
        p["Properties"]["PolicyName"][:17] for p in of_type(template, "AWS::IAM::Policy").values()
    }
    assert len(names) == 2


def test_each_role_of_nodes_has_an_iam_role_of_its_own() -> None:
    example = synthesized_file("guarded-data")
    roles = of_type(example.templates["identity"], "AWS::IAM::Role")
    assert len(roles) == 3
    (create,) = of_type(example.templates["cluster"], "AWS::SageMaker::Cluster").values()
    used = [json.dumps(group["ExecutionRole"]) for group in create["Properties"]["InstanceGroups"]]
    assert len(set(used)) == 3
    assert "Controller" in used[0]
    assert "Worker" in used[2]
    with_data = [
        json.dumps(policy["Properties"]["Roles"])
        for policy in of_type(example.templates["identity"], "AWS::IAM::Policy").values()
    ]
    assert len(with_data) == 2
    assert not any("Controller" in roles for roles in with_data)


def test_every_role_of_the_app_has_the_boundary() -> None:
    example = synthesized_file("guarded-data")
    boundary = "arn:aws:iam::123456789012:policy/platform/cluster-boundary"
    roles = [
        role["Properties"].get("PermissionsBoundary")
        for template in example.templates.values()
        for role in of_type(template, "AWS::IAM::Role").values()
    ]
    assert len(roles) > 3
    assert set(roles) == {boundary}


def test_roles_that_exist_are_named_and_none_is_made() -> None:
    example = synthesized_file("own-roles")
    assert "identity" not in example.templates
    create = only(example.templates["cluster"], "AWS::SageMaker::Cluster")
    names = [group["ExecutionRole"].rpartition("/")[2] for group in create["InstanceGroups"]]
    assert names == ["own-roles-controller", "own-roles-people", "own-roles-people"]


def test_the_logical_id_of_the_one_role_never_changes(dev: Synthesized) -> None:
    (logical_id,) = of_type(dev.templates["identity"], "AWS::IAM::Role")
    assert logical_id == "ExecutionRole829ADBFF"
