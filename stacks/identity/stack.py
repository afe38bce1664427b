"""The identity stack: the roles of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from constructs import Construct

from slurmpod.environment.cluster import Role
from slurmpod.permissions import Scope, node_roles, scope_of
from slurmpod.resolve import Resolved
from slurmpod_cdk.database.stack import DatabaseServer
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.generation import deploy_again_with_each
from slurmpod_cdk.identity.node_roles import ExecutionRole
from slurmpod_cdk.monitoring.stack import Watching
from slurmpod_cdk.network.stack import ClusterNetwork


@dataclass(frozen=True)
class ExecutionRoles:
    """The execution roles by role of the groups; `stack` is None if none is created."""

    stack: IdentityStack | None
    arns: Mapping[Role, str]


def node_roles_of(
    scope: Construct,
    resolved: Resolved,
    network: ClusterNetwork,
    database: DatabaseServer | None,
    watching: Watching | None,
    given_arns: Mapping[Role, str] | None = None,
) -> ExecutionRoles:
    """Make the roles of the nodes, or look up existing ones or those of the app."""
    if resolved.stacks.identity is None:
        existing = node_roles(resolved).items()
        written = {role: arn for arn, served in existing for role in served}
        return ExecutionRoles(None, given_arns or written)
    scopes = {
        name: scope_of(
            resolved,
            served,
            subnet_ids=tuple(network.subnet_ids.values()),
            security_group_ids=tuple(network.security_group_ids),
            database_secret_arn=database.secret_arn if database else None,
            workspace_arn=watching.workspace_arn if watching else None,
        )
        for name, served in node_roles(resolved).items()
    }
    stack = IdentityStack(scope, resolved.stacks.identity, resolved=resolved, scopes=scopes)
    return ExecutionRoles(stack, stack.role_arns)


class IdentityStack(EnvironmentStack):
    """One execution role for all instance groups, or one per role of the groups."""

    def __init__(
        self,
        scope: Construct,
        stack_name: str,
        *,
        resolved: Resolved,
        scopes: Mapping[str, Scope],
    ) -> None:
        what = "Execution role" if len(scopes) == 1 else "Execution roles"
        super().__init__(
            scope,
            stack_name,
            resolved=resolved,
            description=f"{what} of the HyperPod cluster {resolved.name}",
        )
        if any(of_nodes.workspace_arn for of_nodes in scopes.values()):
            deploy_again_with_each(self, resolved)
        self.role_arns: dict[Role, str] = {}
        for name, of_nodes in scopes.items():
            made = ExecutionRole(
                self, name, scope=of_nodes, policy_arns=resolved.identity.policy_arns
            )
            self.role_arns.update(dict.fromkeys(of_nodes.roles, made.role.role_arn))
