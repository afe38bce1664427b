"""References to resources of other stacks, whose values only a deployment knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slurmpod.environment.cluster import Role
from slurmpod.value import Value

if TYPE_CHECKING:
    from slurmpod.request.interfaces import DatabaseServer, MountTarget


class VpcReference(Value):
    """A VPC given by its id or a placeholder."""

    vpc_id: str


class SubnetReference(Value):
    """A subnet given by its id or a placeholder."""

    subnet_id: str


class SecurityGroupReference(Value):
    """A security group given by its id or a placeholder."""

    security_group_id: str


class RoleReference(Value):
    """A role given by its ARN or a placeholder."""

    role_arn: str


class References(Value):
    """All resources that the cluster refers to.

    `bundle_uri` is None without scripts (managed mode); `subnet_ids` are by zone. `database` is the
    environment's own server, not one that the user brings.
    """

    execution_role_arns: Mapping[Role, str]
    bundle_uri: str | None
    subnet_ids: Mapping[str, str]
    security_group_ids: Sequence[str]
    lustre: MountTarget | None
    openzfs: MountTarget | None
    database: DatabaseServer | None
