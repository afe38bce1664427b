"""What nodes get: what they need, for their own resources, and nothing of other environments."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from embedded_aws.iam import Policies, Request, evaluate, policy_of
from slurmpod.environment.cluster import Role
from slurmpod.permissions import (
    PERMISSIONS,
    Scope,
    document,
    expected_scope,
    grants,
    node_roles,
    policies,
    scope_of,
)
from slurmpod.permissions.registry import NARROWED_BY_NOTHING
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import SOUND

KEY = "arn:aws:kms:us-west-2:123456789012:key/0f0e0d0c-1111-2222-3333-{:012d}"
SECRET = "arn:aws:secretsmanager:us-west-2:123456789012:secret:slurm/dbd-AbCdEf"
FULL = (
    SOUND.replace("1200\n", "1200\n    efa: true\n")
    + f"""\
    - {{name: login, role: login, instance_type: ml.m5.large}}
identity:
  data_buckets:
    - {{bucket: a-read-bucket, prefix: in/, kms_key_arn: "{KEY.format(1)}"}}
    - {{bucket: a-written-bucket, access: write, kms_key_arn: "{KEY.format(2)}"}}
  image_repositories: [training/pytorch]
slurm:
  accounting_database:
    {{endpoint: db.example.com, secret_arn: "{SECRET}", secret_kms_key_arn: "{KEY.format(3)}"}}
access:
  sessions: {{record: s3, kms_key_arn: "{KEY.format(4)}"}}
monitoring:
  prometheus: {{}}
"""
)

DIRECTORY = f"""\
access:
  directory:
    uris: ["ldaps://ldap.example.com"]
    base_dn: dc=example,dc=com
    bind_dn: cn=nodes,dc=example,dc=com
    bind_secret_arn: "{SECRET}"
    bind_secret_kms_key_arn: "{KEY.format(3)}"
"""

LOGS = "arn:aws:logs:us-west-2:123456789012:log-group:/aws/sagemaker/Clusters"

WITHOUT_RESOURCES = {
    "cloudwatch:PutMetricData",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ecr:GetAuthorizationToken",
    "fsx:DescribeFileSystems",
    "logs:DescribeLogGroups",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
}
"""Actions that have no resource type in AWS's service authorization reference."""


def resolved(text: str = FULL) -> Resolved:
    loaded = read_as("environment.yaml", text)
    assert loaded.environment is not None, loaded.problems
    return resolve(loaded)


def scope(*roles: Role, text: str = FULL) -> Scope:
    return expected_scope(resolved(text), roles or tuple(Role))


def allows(of: Scope, action: str, resource: str, **context: str) -> bool:
    nodes = policy_of("nodes", document(grants(of)))
    keys = {key.replace("__", ":").replace("_", "-"): value for key, value in context.items()}
    return evaluate(Request(action, resource, keys), Policies([nodes])).allowed


def actions(of: Scope) -> set[str]:
    return {action for grant in grants(of) for action in grant.permission.actions}


def test_nothing_is_allowed_on_everything_that_has_a_narrower_form() -> None:
    wide = {
        action
        for grant in grants(scope())
        if "*" in grant.target.resources
        for action in grant.permission.actions
    }
    assert wide <= WITHOUT_RESOURCES | NARROWED_BY_NOTHING.keys()
    assert wide >= {"ec2:DescribeSubnets", "fsx:DescribeFileSystems", "ecr:GetAuthorizationToken"}


def test_every_action_is_named_in_full() -> None:
    for permission in PERMISSIONS:
        assert all("*" not in action for action in permission.actions)
        assert list(permission.actions) == sorted(permission.actions)


def test_no_two_statements_of_a_policy_have_the_same_id() -> None:
    for name, of_policy in policies(scope()).items():
        ids = Counter(grant.sid for grant in of_policy)
        assert ids.most_common(1)[0][1] == 1, name
    everything = Counter(grant.sid for grant in grants(scope()))
    assert everything.most_common(1)[0][1] == 1


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("s3:GetObject", "arn:aws:s3:::sagemaker-other-123456789012-us-west-2/lifecycle/x"),
        ("s3:ListBucket", "arn:aws:s3:::sagemaker-other-123456789012-us-west-2"),
        ("s3:PutObject", "arn:aws:s3:::sagemaker-dev-123456789012-us-west-2/lifecycle/x"),
        ("s3:GetObject", "arn:aws:s3:::sagemaker-dev-123456789012-us-west-2/other/x"),
        ("s3:GetObject", "arn:aws:s3:::a-read-bucket/out/x"),
        ("s3:PutObject", "arn:aws:s3:::a-read-bucket/in/x"),
        ("s3:GetObject", "arn:aws:s3:::a-read-bucket-too/in/x"),
        ("secretsmanager:GetSecretValue", SECRET.replace("dbd", "other")),
        ("kms:Decrypt", KEY.format(9)),
        ("kms:GenerateDataKey", KEY.format(1)),
        (
            "logs:PutLogEvents",
            f"{LOGS}/dev2/a:log-stream:b",
        ),
        (
            "logs:PutLogEvents",
            f"{LOGS}/dev/a:log-stream:b".replace("us-west-2", "eu-west-1"),
        ),
        ("ecr:BatchGetImage", "arn:aws:ecr:us-west-2:123456789012:repository/training/other"),
        (
            "ec2:DetachNetworkInterface",
            "arn:aws:ec2:us-west-2:999999999999:network-interface/eni-0",
        ),
    ],
)
def test_what_belongs_to_others_is_out_of_reach(action: str, resource: str) -> None:
    assert not allows(scope(), action, resource)


@pytest.mark.parametrize(
    ("action", "resource", "context"),
    [
        (
            "logs:PutLogEvents",
            f"{LOGS}/dev/0a1b2c:log-stream:LifecycleConfig/workers/i-0a1b2c3d",
            {},
        ),
        (
            "logs:CreateLogGroup",
            f"{LOGS}/dev/0a1b2c",
            {},
        ),
        ("cloudwatch:PutMetricData", "*", {"cloudwatch__namespace": "/aws/sagemaker/Clusters"}),
        ("ssmmessages:OpenDataChannel", "*", {}),
        ("s3:ListBucket", "arn:aws:s3:::sagemaker-dev-123456789012-us-west-2", {}),
        ("s3:GetObject", "arn:aws:s3:::sagemaker-dev-123456789012-us-west-2/lifecycle/x", {}),
    ],
)
def test_what_awss_managed_policy_is_for_is_allowed(
    action: str, resource: str, context: dict[str, str]
) -> None:
    assert allows(scope(), action, resource, **context)


def test_metrics_are_written_into_the_namespace_of_clusters_only() -> None:
    assert not allows(scope(), "cloudwatch:PutMetricData", "*", cloudwatch__namespace="AWS/EC2")


def test_data_is_read_or_written_as_the_environment_says() -> None:
    objects = "arn:aws:s3:::a-written-bucket/any/where"
    for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject"):
        assert allows(scope(), action, objects)
    assert allows(scope(), "s3:GetObject", "arn:aws:s3:::a-read-bucket/in/x")
    assert allows(scope(), "s3:ListBucket", "arn:aws:s3:::a-read-bucket", s3__prefix="in/deep/")
    assert not allows(scope(), "s3:ListBucket", "arn:aws:s3:::a-read-bucket", s3__prefix="out/")
    assert allows(scope(), "kms:GenerateDataKey", KEY.format(2))


@pytest.mark.parametrize(
    ("text", "role"), [(FULL, Role.CONTROLLER), (SOUND + DIRECTORY, Role.WORKER)]
)
def test_a_secrets_key_is_used_through_secrets_manager_only(text: str, role: Role) -> None:
    nodes, key = scope(role, text=text), KEY.format(3)
    through = "secretsmanager.us-west-2.amazonaws.com"
    assert allows(nodes, "secretsmanager:GetSecretValue", SECRET)
    assert allows(nodes, "kms:Decrypt", key, kms__ViaService=through)
    assert not allows(nodes, "kms:Decrypt", key, kms__ViaService="s3.us-west-2.amazonaws.com")
    assert not allows(nodes, "kms:Decrypt", key)


def test_each_role_of_nodes_gets_what_its_nodes_need() -> None:
    controller, login, worker = (actions(scope(role)) for role in Role)
    assert "secretsmanager:GetSecretValue" in controller - login - worker
    assert "ecr:BatchGetImage" in (login & worker) - controller
    assert "s3:DeleteObject" in (login & worker) - controller
    assert "ec2:CreateNetworkInterface" in controller & login & worker
    assert controller | login | worker == actions(scope())


def test_without_login_nodes_people_work_on_the_controller() -> None:
    without = FULL.replace("    - {name: login, role: login, instance_type: ml.m5.large}\n", "")
    assert without != FULL
    assert "ecr:BatchGetImage" in actions(scope(Role.CONTROLLER, text=without))


def test_file_systems_are_described_only_where_efa_needs_it() -> None:
    assert "fsx:DescribeFileSystems" not in actions(scope(text=SOUND))
    existing = SOUND.replace(
        "    capacity_gib: 1200\n",
        "    existing: {id: fs-0123456789abcdef0, mount_name: fsx12345}\n",
    )
    assert "fsx:DescribeFileSystems" in actions(scope(text=existing))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("s3", {"s3:PutObject", "s3:GetEncryptionConfiguration", "kms:GenerateDataKey"}),
        ("cloudwatch", {"logs:DescribeLogGroups"}),
        ("none", set()),
    ],
)
def test_sessions_are_recorded_where_the_environment_says(record: str, expected: set[str]) -> None:
    text = f"{SOUND}access: {{sessions: {{record: {record}, kms_key_arn: '{KEY.format(4)}'}}}}\n"
    assert actions(scope(text=text)) - actions(scope(text=SOUND)) == {"kms:Decrypt", *expected}


def test_keys_of_volumes_are_those_of_the_own_groups() -> None:
    text = SOUND.replace(
        "      count: 2\n",
        f"      count: 2\n      volume_gib: 10\n      volume_kms_key_arn: {KEY.format(5)}\n",
    )
    assert allows(scope(Role.WORKER, text=text), "kms:CreateGrant", KEY.format(5))
    assert not allows(scope(Role.CONTROLLER, text=text), "kms:CreateGrant", KEY.format(5))


def test_iam_roles_are_one_one_per_role_or_those_that_exist() -> None:
    assert node_roles(resolved(SOUND)) == {"Execution": frozenset(Role)}
    each = node_roles(resolved(f"{SOUND}identity: {{roles: per_role}}\n"))
    assert each == {"Controller": {Role.CONTROLLER}, "Worker": {Role.WORKER}}
    one, two = (f"arn:aws:iam::123456789012:role/{name}" for name in ("head", "rest"))
    existing = f"  existing: {{controller: {one}, worker: {two}}}\n"
    own = FULL.replace("identity:\n", f"identity:\n{existing}")
    assert node_roles(resolved(own)) == {one: {Role.CONTROLLER, Role.LOGIN}, two: {Role.WORKER}}


def test_what_the_deployment_knows_takes_the_place_of_what_is_open() -> None:
    known = scope_of(
        resolved(),
        tuple(Role),
        subnet_ids=("subnet-1",),
        security_group_ids=("sg-1",),
        workspace_arn="arn:workspace",
    )
    (create,) = [g for g in grants(known) if g.sid == "CreateNetworkInterfaces"]
    names: list[Any] = [arn.rpartition(":")[2] for arn in create.target.resources]
    assert names == ["network-interface/*", "subnet/subnet-1", "security-group/sg-1"]
    (write,) = [g for g in grants(known) if g.sid == "WriteMetrics"]
    assert write.target.resources == ("arn:workspace",)


def test_arns_are_of_the_partition() -> None:
    china = SOUND.replace("us-west-2b", "cn-north-1a").replace("us-west-2", "cn-north-1")
    arns = {
        arn for grant in grants(scope(text=china)) for arn in grant.target.resources if arn != "*"
    }
    assert arns
    assert all(arn.startswith("arn:aws-cn:") for arn in arns)
