"""An IAM policy from the permissions of an environment."""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import aws_iam

from slurmpod.permissions import Grant


def policy_document(grants: Iterable[Grant]) -> aws_iam.PolicyDocument:
    """Return a policy with one statement for each grant."""
    return aws_iam.PolicyDocument(statements=[_statement(grant) for grant in grants])


def _statement(grant: Grant) -> aws_iam.PolicyStatement:
    conditions = {key: dict(values) for key, values in grant.target.conditions.items()}
    return aws_iam.PolicyStatement(
        sid=grant.sid,
        actions=list(grant.permission.actions),
        resources=list(grant.target.resources),
        conditions=conditions or None,
    )
