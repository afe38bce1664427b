"""Types of references to resources that others create; not needed at run time.

They are those of the CDK's own interfaces, so that CDK objects fit: `IVpc`, `ISubnet`,
`ISecurityGroup`, `IRole` and `IKey`; nothing here needs the CDK.
"""

from __future__ import annotations

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


class DatabaseServer(Protocol):
    """The database server that the environment makes."""

    @property
    def endpoint(self) -> str:
        """DNS name of the server."""

    @property
    def secret_arn(self) -> str:
        """Secret with user name and password."""


class MountTarget(Protocol):
    """The server and the mount name of a file system."""

    @property
    def dns_name(self) -> str:
        """Name of the server."""

    @property
    def mount_name(self) -> str:
        """Name of the file system on it."""


class LifecycleScripts(Protocol):
    """Scripts that HyperPod runs on every new node, such as a `LifecycleBundle`."""

    @property
    def source_s3_uri(self) -> str:
        """Location from which HyperPod fetches them."""

    @property
    def entry_script(self) -> str:
        """Entry script."""


class MountedLustre(MountTarget, Protocol):
    """A Lustre file system that nodes mount, such as a `LustreFileSystem`."""

    @property
    def mount_path(self) -> str:
        """Folder on every node."""


class MountedOpenZfs(Protocol):
    """An OpenZFS file system that nodes mount, such as an `OpenZfsFileSystem`."""

    @property
    def dns_name(self) -> str:
        """Name of the server."""

    @property
    def mount_path(self) -> str:
        """Folder on every node."""
