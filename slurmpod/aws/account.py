"""The account of the current credentials: its roles, policies and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable, suppressed
from slurmpod.permissions.identity import Document, IamRole

if TYPE_CHECKING:
    from types_boto3_iam import IAMClient


def read_role(iam: IAMClient, arn: str) -> IamRole | None:
    """Return the role with this ARN, or None if it does not exist."""
    name = arn.rpartition("/")[2]
    with suppressed("NoSuchEntity"):
        role = iam.get_role(RoleName=name)["Role"]
        if role["Arn"] != arn:  # same name, another path
            return None
        boundary = role.get("PermissionsBoundary")
        return IamRole(
            arn=arn,
            trust=_document(role["AssumeRolePolicyDocument"]),
            policies=dict(_policies(iam, name)),
            boundary_arn=boundary["PermissionsBoundaryArn"] if boundary else None,
        )
    return None


def read_policy(iam: IAMClient, arn: str) -> Document | None:
    """Return the document of a managed policy, or None if it does not exist."""
    with suppressed("NoSuchEntity"):
        policy = iam.get_policy(PolicyArn=arn)["Policy"]
        version = iam.get_policy_version(PolicyArn=arn, VersionId=policy["DefaultVersionId"])
        return _document(version["PolicyVersion"]["Document"])
    return None


def _policies(iam: IAMClient, role: str) -> Iterator[tuple[str, Document]]:
    for page in iam.get_paginator("list_role_policies").paginate(RoleName=role):
        for name in page["PolicyNames"]:
            found = iam.get_role_policy(RoleName=role, PolicyName=name)
            yield name, _document(found["PolicyDocument"])
    for attached in iam.get_paginator("list_attached_role_policies").paginate(RoleName=role):
        for policy in attached["AttachedPolicies"]:
            document = read_policy(iam, policy["PolicyArn"])
            if document is not None:
                yield policy["PolicyArn"], document


def _document(found: Any) -> Document:
    """Return a document that the SDK has already decoded, although its types say `str`."""
    return dict(found)


@dataclass(frozen=True)
class AwsAccount:
    """Queries to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def id(self) -> str:
        """Return the id of the account that the credentials belong to."""
        with as_unavailable("find out which account the credentials belong to"):
            return self.clients.sts.get_caller_identity()["Account"]

    def iam_role(self, arn: str) -> IamRole | None:
        """Return a role with its policies, or None if no role has this ARN."""
        with as_unavailable(f"read the role {arn}"):
            return read_role(self.clients.iam, arn)

    def iam_policy(self, arn: str) -> dict[str, Any] | None:
        """Return the document of a managed policy, or None if no policy has this ARN."""
        with as_unavailable(f"read the policy {arn}"):
            return read_policy(self.clients.iam, arn)

    def parameters(self, folder: str) -> Mapping[str, str]:
        """Return the values of all parameters directly below `folder`, by name."""
        with as_unavailable(f"read the parameters below {folder}"):
            pages = self.clients.ssm.get_paginator("get_parameters_by_path").paginate(Path=folder)
            return {
                parameter["Name"]: parameter["Value"]
                for page in pages
                for parameter in page["Parameters"]
            }
