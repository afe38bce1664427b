"""References to what others make: by the members that the CDK's own interfaces have, or by ids.

`IVpc`, `ISubnet`, `ISecurityGroup`, `IRole` and `IKey` have these members; nothing here needs the
CDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
