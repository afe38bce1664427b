"""The account that the credentials open: its roles, policies and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import as_unavailable
from slurmpod.aws.iam_roles import IamRole, read_policy, read_role


@dataclass(frozen=True)
class AwsAccount:
    """Questions to one account and Region; each raises AwsUnavailable when AWS does not answer."""

    clients: AwsClients

    def id(self) -> str:
        """Return the id of the account to which the credentials belong."""
        with as_unavailable("find out which account the credentials belong to"):
            return self.clients.sts.get_caller_identity()["Account"]

    def iam_role(self, arn: str) -> IamRole | None:
        """Return a role with its policies; None where there is none of this ARN."""
        with as_unavailable(f"read the role {arn}"):
            return read_role(self.clients.iam, arn)

    def iam_policy(self, arn: str) -> dict[str, Any] | None:
        """Return the document of a managed policy; None where there is none of this ARN."""
        with as_unavailable(f"read the policy {arn}"):
            return read_policy(self.clients.iam, arn)

    def parameters(self, folder: str) -> Mapping[str, str]:
        """Return the values of all parameters directly below `folder`, by their names."""
        with as_unavailable(f"read the parameters below {folder}"):
            pages = self.clients.ssm.get_paginator("get_parameters_by_path").paginate(Path=folder)
            return {
                parameter["Name"]: parameter["Value"]
                for page in pages
                for parameter in page["Parameters"]
            }
