"""What every stack of an environment has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Environment, Stack

if TYPE_CHECKING:
    from constructs import Construct

    from slurmpod.resolve import Resolved


class EnvironmentStack(Stack):
    """A stack in the environment's account and Region, with its tags.

    A stack of a protected environment refuses to be deleted until its termination protection is
    switched off. Data needs no such care: file system and bucket outlive their stacks everywhere.
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
            env=Environment(account=resolved.account, region=resolved.region),
            description=description,
            tags=resolved.tags,
            termination_protection=resolved.protected,
        )
        self._zone = resolved.network.zone

    @property
    def availability_zones(self) -> list[str]:
        """The environment's one zone; the CDK would look zones up in the account."""
        return [self._zone]
