"""The roles of a cluster's nodes, for whoever makes the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Stack, aws_iam, aws_logs
from constructs import Construct

from slurmpod.environment.cluster import Role
from slurmpod.permissions import Scope
from slurmpod.request.interfaces import HasKeyArn, HasSecurityGroupId, HasSubnetId
from slurmpod_cdk.identity.execution_role import ExecutionRole
from slurmpod_cdk.lifecycle.lifecycle_bundle import LifecycleBundle


class NodeRoles(Construct):
    """One role each for the groups of controllers, logins and workers, with what these need.

    That is what docs/permissions.md lists for every node: interfaces in these subnets with these
    security groups, HyperPod's logs and metrics of this cluster, sessions, and reading the scripts.
    Whatever jobs need is granted to the roles as to any other.
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

        HyperPod encrypts volumes with `volume_keys`, nodes write to `log_groups` beside their own,
        and without login nodes people work on controllers. File systems with EFA, and existing ones
        that may have it, are asked whether they do.
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
        """Grant what others hold: the key of the scripts' bucket, and log groups."""
        key = lifecycle.bucket.encryption_key if lifecycle else None
        if key:
            key.grant_decrypt(role)
        for log_group in log_groups:
            log_group.grant_write(role)
