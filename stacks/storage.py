"""The storage stack: the file system that every node mounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput

from stacks.parts.environment_stack import EnvironmentStack
from stacks.parts.lustre_file_system import LustreFileSystem

if TYPE_CHECKING:
    from constructs import Construct

    from slurmpod.resolve import Resolved
    from stacks.network import NetworkStack


class StorageStack(EnvironmentStack):
    """Users' data. Deployed after the whole network stack.

    FSx tests port 988 when it creates a file system and fails if the security group's rule for it
    is not there yet, hence the dependency on the rules and not only on the group.
    """

    def __init__(self, scope: Construct, *, resolved: Resolved, network: NetworkStack) -> None:
        super().__init__(
            scope,
            resolved.stacks.storage,
            resolved=resolved,
            description=f"FSx for Lustre file system of the HyperPod cluster {resolved.name}",
        )
        self.file_system = LustreFileSystem(
            self,
            "Lustre",
            name=resolved.name,
            file_system=resolved.file_system,
            subnet_id=network.private_subnet_id,
            security_group_id=network.security_group_id,
        )
        CfnOutput(
            self,
            "FileSystemId",
            value=self.file_system.file_system_id,
            description="Id of the FSx for Lustre file system",
        )
        CfnOutput(
            self,
            "FileSystemDnsName",
            value=self.file_system.dns_name,
            description="DNS name under which nodes mount the file system",
        )
        CfnOutput(
            self,
            "FileSystemMountName",
            value=self.file_system.mount_name,
            description="Mount name of the file system: mount -t lustre <DNS name>@tcp:/<this>",
        )
