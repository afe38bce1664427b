"""Execution roles of nodes: their sessions and permissions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

from embedded_aws.cluster import ClusterFailed
from embedded_aws.iam import Policies, Principal, Request, evaluate, policy_of
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.gateway import Gateway

if TYPE_CHECKING:
    from embedded_aws.server import EmbeddedAws

SESSION_NAME = "SageMaker"
"""HyperPod's session name, as shown by `aws sts get-caller-identity` on its nodes."""


@dataclass(frozen=True)
class NodeRole:
    """A session: `gateway` for use outside the nodes, `variables` for AWS tools on them."""

    gateway: Gateway
    variables: Mapping[str, str]


AssumeRole = Callable[[str], NodeRole]
"""Returns a session of the role with this ARN; raises ClusterFailed if it cannot be assumed."""


HYPERPOD = Principal(service="sagemaker.amazonaws.com")


class NodeRoles:
    """Assumes each role once; `variables` direct AWS tools to `aws`, without credentials."""

    def __init__(self, aws: EmbeddedAws, variables: Mapping[str, str]) -> None:
        self._aws = aws
        self._variables = variables
        self._assumed: dict[str, NodeRole] = {}
        self._lock = threading.Lock()

    def assume(self, role_arn: str) -> NodeRole:
        """Return a session of a role; raises ClusterFailed if HyperPod may not assume it."""
        with self._lock:
            if role_arn not in self._assumed:
                self._require_trust(role_arn)
                self._assumed[role_arn] = self._session(role_arn)
            return self._assumed[role_arn]

    def _require_trust(self, role_arn: str) -> None:
        try:
            role: Any = self._aws.clients().iam.get_role(RoleName=role_arn.rpartition("/")[2])
        except ClientError as error:
            raise ClusterFailed(f"{_not_assumed(role_arn)} {error}") from error
        trust = policy_of("trust policy", role["Role"]["AssumeRolePolicyDocument"])
        request = Request("sts:AssumeRole", role_arn, principal=HYPERPOD)
        if not evaluate(request, Policies(resource=trust)).allowed:
            raise ClusterFailed(_not_assumed(role_arn))

    def _session(self, role_arn: str) -> NodeRole:
        sts = self._aws.clients().service("sts")
        made = sts.assume_role(RoleArn=role_arn, RoleSessionName=SESSION_NAME)["Credentials"]
        session = boto3.session.Session(
            aws_access_key_id=made["AccessKeyId"],
            aws_secret_access_key=made["SecretAccessKey"],
            aws_session_token=made["SessionToken"],
            region_name=self._aws.region,
        )
        credentials = {
            "AWS_ACCESS_KEY_ID": made["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"],
            "AWS_SESSION_TOKEN": made["SessionToken"],
        }
        gateway = Gateway(AwsClients(session, self._aws.endpoint))
        return NodeRole(gateway, {**self._variables, **credentials})


def _not_assumed(role_arn: str) -> str:
    return (
        f"SageMaker was unable to assume the role {role_arn}: it must exist, and its trust policy"
        f" must allow sts:AssumeRole to {HYPERPOD.service}."
    )
