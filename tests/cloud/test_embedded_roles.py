"""Roles in the embedded AWS: a boundary is changed on the role that is there."""

from __future__ import annotations

from typing import Any

from tests.cloud.embedded_stacks import Outcome, Stacks

ALL = {"Effect": "Allow", "Action": "*", "Resource": "*"}
TRUST = {
    "Effect": "Allow",
    "Action": "sts:AssumeRole",
    "Principal": {"Service": "sagemaker.amazonaws.com"},
}


def document(statement: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [statement]}


def deploy(stacks: Stacks, boundary: str | None) -> Outcome:
    bounds = {"PermissionsBoundary": {"Ref": boundary}} if boundary else {}
    policy = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document(ALL)}}
    role = {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": document(TRUST), **bounds},
    }
    return stacks.deploy("bounded", {"Narrow": policy, "Wide": policy, "Role": role})


def boundary_of(stacks: Stacks, outcome: Outcome) -> str | None:
    role = stacks.clients.iam.get_role(RoleName=outcome.ids["Role"])["Role"]
    return role.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn")


def test_a_boundary_is_set_changed_and_removed_on_the_same_role(stacks: Stacks) -> None:
    outcomes = [deploy(stacks, boundary) for boundary in (None, "Narrow", "Wide", None)]
    assert len({outcome.ids["Role"] for outcome in outcomes}) == 1
    assert boundary_of(stacks, outcomes[-1]) is None


def test_the_boundary_is_the_one_that_the_template_names(stacks: Stacks) -> None:
    for name in ("Narrow", "Wide"):
        outcome = deploy(stacks, name)
        assert boundary_of(stacks, outcome) == outcome.ids[name]
