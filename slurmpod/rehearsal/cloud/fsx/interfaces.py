"""The network interfaces of a file system: one per server, in its first subnet.

They matter for what they block: addresses of the subnet, and the deletion of subnet and security
groups while the file system exists. Source: FSx for Lustre user guide, "IP address considerations":
one address for the metadata server and one per 2.4 TiB of SSD storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.clients import Clients

_GIB_PER_STORAGE_SERVER = 2400


def server_count(request: Mapping[str, Any]) -> int:
    """Return how many servers, and so addresses, a file system of this size has."""
    return 1 + -(-int(request.get("StorageCapacity", 0)) // _GIB_PER_STORAGE_SERVER)


def add_interfaces(
    aws: Clients, file_system_id: str, request: Mapping[str, Any], interface_ids: list[str]
) -> None:
    """Create interfaces until there is one per server; `interface_ids` is extended as they are.

    Raises botocore's ClientError when the subnet has no free address.
    """
    groups: dict[str, Any] = {}
    if request.get("SecurityGroupIds"):
        groups["Groups"] = list(request["SecurityGroupIds"])
    while len(interface_ids) < server_count(request):
        interface = aws.ec2.create_network_interface(
            SubnetId=request["SubnetIds"][0],
            Description=f"Created by Amazon FSx for {file_system_id}",
            **groups,
        )["NetworkInterface"]
        interface_ids.append(interface["NetworkInterfaceId"])


def delete_interfaces(aws: Clients, interface_ids: list[str]) -> None:
    """Delete the interfaces; `interface_ids` is empty afterwards."""
    while interface_ids:
        aws.ec2.delete_network_interface(NetworkInterfaceId=interface_ids.pop())
