"""The roles that HyperPod assumes for instance groups and that their nodes carry."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Stack, aws_iam, aws_logs
from constructs import Construct

from slurmpod.environment.cluster import Role
from slurmpod.environment.names import account_of_arn
from slurmpod.permissions import Scope, policies
from slurmpod.request.interfaces import HasKeyArn, HasSecurityGroupId, HasSubnetId
from slurmpod_cdk.lifecycle.bundle import LifecycleBundle
from slurmpod_cdk.policy_document import policy_document

POLICIES_OF_DATA = frozenset({"Buckets", "DataBuckets"})
"""Policies that grow with the environment are separate resources next to the role."""


class ExecutionRole(Construct):
    """A role with exactly the permissions that the table lists for these nodes.

    Source: SageMaker HyperPod developer guide, "IAM role for SageMaker HyperPod". Without AWS's
    managed policy, which would let nodes read other environments' buckets.
    """

    def __init__(
        self, construct: Construct, id_: str, *, scope: Scope, policy_arns: Sequence[str] = ()
    ) -> None:
        """Make the role for the nodes of `scope`, with additional managed policies."""
        super().__init__(construct, id_)
        documents = {name: policy_document(grants) for name, grants in policies(scope).items()}
        self.role = aws_iam.Role(
            self,
            "Role",
            description=f"Nodes of the HyperPod cluster {scope.cluster_name}",
            assumed_by=aws_iam.ServicePrincipal("sagemaker.amazonaws.com"),
            managed_policies=[
                self._further_policy(number, arn) for number, arn in enumerate(policy_arns, start=1)
            ],
            inline_policies={
                name: document
                for name, document in documents.items()
                if name not in POLICIES_OF_DATA
            },
        )
        for name in sorted(POLICIES_OF_DATA & documents.keys()):
            aws_iam.Policy(self, name, roles=[self.role], document=documents[name])

    def _further_policy(self, number: int, arn: str) -> aws_iam.IManagedPolicy:
        """Return a policy chosen by the user; its id tells reviews whether it is AWS managed."""
        kind = "OfAws" if account_of_arn(arn) == "aws" else "Own"
        return aws_iam.ManagedPolicy.from_managed_policy_arn(self, f"{kind}{number}", arn)


class NodeRoles(Construct):
    """One role each for the groups of controllers, logins and workers, with their permissions.

    docs/permissions.md lists the permissions of every node: interfaces in these subnets with these
    security groups, HyperPod's logs and metrics of this cluster, sessions, and reading the scripts.
    Grant further permissions for jobs to these roles as to any other role.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster_name: str,
        subnets: Sequence[HasSubnetId],
        security_groups: Sequence[HasSecurityGroupId],
        lifecycle: LifecycleBundle | None = None,
        volume_keys: Sequence[HasKeyArn] = (),
        log_groups: Sequence[aws_logs.ILogGroup] = (),
        has_login_nodes: bool = True,
        has_efa_file_systems: bool = False,
    ) -> None:
        """Make the roles for the cluster of this name.

        HyperPod encrypts volumes with `volume_keys`, nodes write to `log_groups` in addition to
        their own, and without login nodes people work on controllers. Nodes may describe file
        systems with EFA, and existing ones that may have it, to find out whether it is enabled.
        """
        super().__init__(scope, id_)
        stack = Stack.of(self)
        self._by_role: dict[Role, aws_iam.Role] = {}
        for role in Role:
            permissions = Scope(
                cluster_name=cluster_name,
                aws_partition=stack.partition,
                region=stack.region,
                account=stack.account,
                roles={role},
                subnet_ids=tuple(subnet.subnet_id for subnet in subnets),
                security_group_ids=tuple(group.security_group_id for group in security_groups),
                has_login_nodes=has_login_nodes,
                scripts_bucket=lifecycle.bucket.bucket_name if lifecycle else None,
                scripts_prefix=lifecycle.folder if lifecycle else "",
                volume_key_arns=[key.key_arn for key in volume_keys],
                asks_for_file_systems=has_efa_file_systems,
            )
            made = ExecutionRole(self, role.capitalize(), scope=permissions).role
            self._grant(made, lifecycle, log_groups)
            self._by_role[role] = made

    @property
    def controller(self) -> aws_iam.Role:
        """The role of the controller's group."""
        return self._by_role[Role.CONTROLLER]

    @property
    def login(self) -> aws_iam.Role:
        """The role of login groups."""
        return self._by_role[Role.LOGIN]

    @property
    def worker(self) -> aws_iam.Role:
        """The role of worker groups."""
        return self._by_role[Role.WORKER]

    def _grant(
        self,
        role: aws_iam.Role,
        lifecycle: LifecycleBundle | None,
        log_groups: Sequence[aws_logs.ILogGroup],
    ) -> None:
        """Grant access to resources of others: the key of the scripts' bucket, and log groups."""
        key = lifecycle.bucket.encryption_key if lifecycle else None
        if key:
            key.grant_decrypt(role)
        for log_group in log_groups:
            log_group.grant_write(role)
