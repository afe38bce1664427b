"""The identity stack: what nodes may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stacks.parts.environment_stack import EnvironmentStack
from stacks.parts.execution_role import ExecutionRole

if TYPE_CHECKING:
    from constructs import Construct

    from slurmpod.resolve import Resolved
    from stacks.network import NetworkStack


class IdentityStack(EnvironmentStack):
    """One execution role for all instance groups."""

    def __init__(self, scope: Construct, *, resolved: Resolved, network: NetworkStack) -> None:
        super().__init__(
            scope,
            resolved.stacks.identity,
            resolved=resolved,
            description=f"Execution role of the HyperPod cluster {resolved.name}",
        )
        self.execution_role_arn = ExecutionRole(
            self,
            "Execution",
            resolved=resolved,
            subnet_id=network.private_subnet_id,
            security_group_id=network.security_group_id,
        ).role_arn
