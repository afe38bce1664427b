"""References to what others make, whose values only a deployment knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slurmpod.environment.cluster import Role
from slurmpod.value import Value

if TYPE_CHECKING:
    from slurmpod.request.interfaces import DatabaseServer, MountTarget


class VpcReference(Value):
    """A VPC of which the id is known, or what stands for it."""

    vpc_id: str


class SubnetReference(Value):
    """A subnet of which the id is known, or what stands for it."""

    subnet_id: str


class SecurityGroupReference(Value):
    """A security group of which the id is known, or what stands for it."""

    security_group_id: str


class RoleReference(Value):
    """A role of which the ARN is known, or what stands for it."""

    role_arn: str


class References(Value):
    """Everything that the cluster refers to and others make.

    `bundle_uri` is None where there are no scripts (managed mode); `subnet_ids` goes by zone.
    `database` is the environment's own server, not one that the user brings.
    """

    execution_role_arns: Mapping[Role, str]
    bundle_uri: str | None
    subnet_ids: Mapping[str, str]
    security_group_ids: Sequence[str]
    lustre: MountTarget | None
    openzfs: MountTarget | None
    database: DatabaseServer | None
