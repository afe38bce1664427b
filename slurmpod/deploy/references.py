"""References to what others make, whose values only a deployment knows.

Single things are referred to by the members that the CDK's own interfaces have, or by ids: `IVpc`,
`ISubnet`, `ISecurityGroup`, `IRole` and `IKey` have these members; nothing here needs the CDK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from slurmpod.environment.cluster import Role


class HasVpcId(Protocol):
    """A VPC, such as an `IVpc`."""

    @property
    def vpc_id(self) -> str:
        """Its id."""


class HasSubnetId(Protocol):
    """A subnet, such as an `ISubnet`."""

    @property
    def subnet_id(self) -> str:
        """Its id."""


class HasSecurityGroupId(Protocol):
    """A security group, such as an `ISecurityGroup`."""

    @property
    def security_group_id(self) -> str:
        """Its id."""


class HasRoleArn(Protocol):
    """A role of IAM, such as an `IRole`."""

    @property
    def role_arn(self) -> str:
        """Its ARN."""


class HasKeyArn(Protocol):
    """A key of KMS, such as an `IKey`."""

    @property
    def key_arn(self) -> str:
        """Its ARN."""


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


class DatabaseServer(Protocol):
    """The database server that the environment makes."""

    @property
    def endpoint(self) -> str:
        """DNS name of the server."""

    @property
    def secret_arn(self) -> str:
        """Secret with user name and password."""


class MountTarget(Protocol):
    """The server and the name by which a file system is mounted."""

    @property
    def dns_name(self) -> str:
        """Name of the server."""

    @property
    def mount_name(self) -> str:
        """Name of the file system on it."""


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
