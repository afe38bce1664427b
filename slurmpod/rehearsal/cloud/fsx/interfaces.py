"""The network interfaces of a file system, in its first subnet.

They matter for what they block: addresses of the subnet, and the deletion of subnet and security
groups while the file system exists. Sources: FSx for Lustre user guide, "IP addresses for file
systems" (one for each server); FSx for OpenZFS user guide, "Working with file system resources"
(one, or with high availability two and a floating address).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.fsx.lustre import Lustre

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.clients import Clients


@dataclass(frozen=True)
class Addressing:
    """How many interfaces a file system has, and whether one of them has a second address."""

    interfaces: int
    has_floating_address: bool = False


def addressing(request: Mapping[str, Any]) -> Addressing:
    """Return the addressing of a file system as it is asked for."""
    if request["FileSystemType"] == "LUSTRE":
        return Addressing(Lustre.of(request).servers)
    is_highly_available = "_HA_" in request["OpenZFSConfiguration"]["DeploymentType"]
    return Addressing(1 + is_highly_available, has_floating_address=is_highly_available)


def add_interfaces(
    aws: Clients, file_system_id: str, request: Mapping[str, Any], interface_ids: list[str]
) -> None:
    """Create interfaces until there are enough; `interface_ids` is extended as they are.

    Raises botocore's ClientError when the subnet has no free address.
    """
    wanted = addressing(request)
    options: dict[str, Any] = {}
    if request.get("SecurityGroupIds"):
        options["Groups"] = list(request["SecurityGroupIds"])
    while len(interface_ids) < wanted.interfaces:
        is_first = not interface_ids
        interface = aws.ec2.create_network_interface(
            SubnetId=request["SubnetIds"][0],
            Description=f"Created by Amazon FSx for {file_system_id}",
            SecondaryPrivateIpAddressCount=int(wanted.has_floating_address and is_first),
            **options,
        )["NetworkInterface"]
        interface_ids.append(interface["NetworkInterfaceId"])


def delete_interfaces(aws: Clients, interface_ids: list[str]) -> None:
    """Delete the interfaces; `interface_ids` is empty afterwards."""
    while interface_ids:
        aws.ec2.delete_network_interface(NetworkInterfaceId=interface_ids.pop())
