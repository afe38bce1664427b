"""What policies let users of nodes do beyond their cluster, and the table of what they can."""

from __future__ import annotations

import json
from typing import Any

import pytest
from moto.iam.aws_managed_policies import aws_managed_policies_data

from embedded_aws.iam import Policy, policy_of
from slurmpod.permissions.powers import OF_AWS, powers_of
from slurmpod.permissions.rights import NOT_KNOWN, rights_of_users
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import SOUND

ALL = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def resolved(more: str = "") -> Resolved:
    return resolve(read_as("dev.yaml", SOUND + more))


def policy(*statements: dict[str, Any]) -> list[Policy]:
    return [policy_of("p", {"Version": "2012-10-17", "Statement": list(statements)})]


def allowing(action: str, resource: str = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def actions(policies: list[Policy], bounds: list[Policy] | None = None) -> set[str]:
    return {each.action for each in powers_of(policies, resolved(), bounds=bounds or ())}


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (ALL, {"*"}),
        (allowing("iam:PassRole"), {"iam:PassRole"}),
        (allowing("iam:PassRole", "arn:aws:iam::123456789012:role/jobs-*"), set()),
        (
            allowing(
                "iam:PassRole",
                Condition={"StringEquals": {"iam:PassedToService": "glue.amazonaws.com"}},
            ),
            set(),
        ),
        (allowing("s3:PutObject", "arn:aws:s3:::sagemaker-*"), {"s3:PutObject"}),
        (allowing("s3:PutObject", "arn:aws:s3:::our-data/*"), set()),
        (allowing("s3:Get*"), {"s3:GetObject"}),
        (allowing("sts:AssumeRole"), {"sts:AssumeRole"}),
        (allowing("secretsmanager:*"), {"secretsmanager:GetSecretValue"}),
    ],
)
def test_a_statement_gives_users_more_than_the_cluster(
    statement: dict[str, Any], found: set[str]
) -> None:
    assert actions(policy(statement)) == found


def test_a_denial_or_a_boundary_takes_it_away() -> None:
    passing = allowing("iam:PassRole")
    assert actions(policy(passing, {**passing, "Effect": "Deny"})) == set()
    assert actions(policy(ALL), policy(allowing("ec2:*"))) == {"ec2:TerminateInstances"}


def test_what_nodes_themselves_need_gives_nobody_more() -> None:
    (role,) = {right.nodes for right in rights_of_users(resolved())}
    assert role == "controller, login, worker"


@pytest.mark.parametrize("name", OF_AWS)
def test_policies_of_aws_are_as_powerful_as_is_said(name: str) -> None:
    known = json.loads(aws_managed_policies_data)
    found = actions([policy_of(name, known[name]["Document"])])
    assert (
        found
        >= {
            "AdministratorAccess": {"*"},
            "PowerUserAccess": {
                "s3:PutObject",
                "sagemaker:DeleteCluster",
                "ec2:TerminateInstances",
            },
            "IAMFullAccess": {"iam:PutRolePolicy", "iam:PassRole", "iam:CreateAccessKey"},
            "AmazonS3FullAccess": {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"},
            "AmazonSageMakerFullAccess": {"s3:PutObject"},
            "AmazonEC2FullAccess": {"ec2:TerminateInstances"},
            "AmazonFSxFullAccess": {"fsx:DeleteFileSystem"},
            "AmazonSSMFullAccess": {"ssm:SendCommand"},
            "SecretsManagerReadWrite": {"secretsmanager:GetSecretValue"},
        }[name]
    )


def test_the_table_has_each_permission_once_and_further_policies() -> None:
    arns = ("arn:aws:iam::aws:policy/AmazonS3FullAccess", "arn:aws:iam::123456789012:policy/more")
    rights = rights_of_users(resolved(f"identity: {{policy_arns: [{', '.join(arns)}]}}\n"))
    assert [(each.actions, each.on) for each in rights[-2:]] == [
        ((arns[0],), OF_AWS["AmazonS3FullAccess"]),
        ((arns[1],), NOT_KNOWN),
    ]
    assert len({each.actions for each in rights}) == len(rights)
    assert ("s3:ListBucket",) in {each.actions for each in rights}


def test_nodes_on_which_nobody_works_have_no_rows() -> None:
    login = "    - {name: login, role: login, instance_type: ml.m5.large}\n"
    per_role = f"{login}identity: {{roles: per_role}}\n"
    assert {each.nodes for each in rights_of_users(resolved(per_role))} == {"login", "worker"}
