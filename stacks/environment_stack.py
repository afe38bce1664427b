"""The base class of all stacks of an environment."""

from __future__ import annotations

from aws_cdk import Environment, PermissionsBoundary, Stack
from constructs import Construct

from slurmpod.resolve import Resolved


class EnvironmentStack(Stack):
    """A stack in the environment's account and Region, with its tags.

    A stack of a protected environment cannot be deleted until its termination protection is
    switched off. Data does not depend on it: file systems and buckets are retained in every
    environment. All roles in it, including those of the CDK's functions, have the environment's
    boundary. Its name is explicit, so that it does not depend on the stack's position in an app.
    """

    def __init__(
        self,
        scope: Construct,
        stack_name: str,
        *,
        resolved: Resolved,
        description: str,
    ) -> None:
        super().__init__(
            scope,
            stack_name,
            stack_name=stack_name,
            env=Environment(account=resolved.account, region=resolved.region),
            description=description,
            tags=resolved.tags,
            termination_protection=resolved.protected,
            permissions_boundary=_boundary(resolved),
        )
        self._zones = list(resolved.network.zones)

    @property
    def availability_zones(self) -> list[str]:
        """The environment's zones; by default the CDK would look them up in the account."""
        return self._zones


def _boundary(resolved: Resolved) -> PermissionsBoundary | None:
    boundary = resolved.identity.permissions_boundary
    return PermissionsBoundary.from_arn(boundary.policy_arn) if boundary else None
