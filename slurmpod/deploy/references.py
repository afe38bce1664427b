"""References to what others make, whose values only a deployment knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.environment.cluster import Role

if TYPE_CHECKING:
    from slurmpod.deploy.interfaces import DatabaseServer, MountTarget


@dataclass(frozen=True)
class VpcReference:
    """A VPC of which the id is known, or what stands for it."""

    vpc_id: str


@dataclass(frozen=True)
class SubnetReference:
    """A subnet of which the id is known, or what stands for it."""

    subnet_id: str


@dataclass(frozen=True)
class SecurityGroupReference:
    """A security group of which the id is known, or what stands for it."""

    security_group_id: str


@dataclass(frozen=True)
class RoleReference:
    """A role of which the ARN is known, or what stands for it."""

    role_arn: str


@dataclass(frozen=True)
class References:
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
