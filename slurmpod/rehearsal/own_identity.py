"""The roles, boundary and policies that an environment names: put into the embedded AWS.

What their owner has written into them is known where the environment names copies as files. Else
roles get what nodes need, and the boundary bounds nothing; further policies allow next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from slurmpod.deploy.permissions import document, expected_scope, grants, node_roles
from slurmpod.environment.names import account_of_arn
from slurmpod.reading.policy_files import PolicyDocument
from slurmpod.resolve import Resolved

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


def make_identity(aws: Clients, resolved: Resolved) -> None:
    """Make what the environment names of IAM and is not there yet."""
    identity = resolved.identity
    if boundary := identity.permissions_boundary:
        copy = resolved.policies.get(boundary.policy_file or "")
        _make_policy(aws, boundary.policy_arn, copy or _allowing("*"))
    for arn in identity.policy_arns:
        _make_policy(aws, arn, _allowing("sts:GetCallerIdentity"))
    if identity.existing:
        copies = [resolved.policies[file] for file in identity.existing.policy_files]
        for arn, nodes in node_roles(resolved).items():
            needed = document(grants(expected_scope(resolved, nodes)))
            _make_role(aws, arn, copies or [needed])


def _make_policy(aws: Clients, arn: str, policy: PolicyDocument) -> None:
    """Make a policy; those of AWS are there."""
    if account_of_arn(arn) == "aws":
        return
    path, name = _path_and_name(arn)
    try:
        aws.iam.get_policy(PolicyArn=arn)
    except ClientError:
        aws.iam.create_policy(PolicyName=name, Path=path, PolicyDocument=json.dumps(policy))


def _make_role(aws: Clients, arn: str, policies: Sequence[PolicyDocument]) -> None:
    path, name = _path_and_name(arn)
    try:
        aws.iam.get_role(RoleName=name)
    except ClientError:
        aws.iam.create_role(RoleName=name, Path=path, AssumeRolePolicyDocument=json.dumps(TRUST))
        for number, policy in enumerate(policies, start=1):
            aws.iam.put_role_policy(
                RoleName=name, PolicyName=f"nodes-{number}", PolicyDocument=json.dumps(policy)
            )


def _allowing(action: str) -> PolicyDocument:
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [statement]}


def _path_and_name(arn: str) -> tuple[str, str]:
    """Return `/platform/` and `boundary` of an ARN that ends with policy/platform/boundary."""
    _, *path, name = arn.rpartition(":")[2].split("/")
    return "/".join(("", *path, "")), name
