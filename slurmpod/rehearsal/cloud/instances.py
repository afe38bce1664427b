"""Instances of a cluster that come and go, as they are before and after anything runs on them."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.platform import ClusterNode

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.platform import Cluster, InstanceGroup


def new_node(cluster: Cluster, group: InstanceGroup) -> ClusterNode:
    """Return a pending node of `group` with an id and an address in its subnet.

    Raises ClusterFailed when the subnet has no address left.
    """
    interface = cluster.network.create_interface(group)
    return ClusterNode(
        instance_id=new_instance_id(),
        group=group.name,
        instance_type=group.instance_type,
        private_ip=interface.private_ip,
        private_dns_hostname=interface.private_dns_hostname,
        launched_at=datetime.now(UTC),
        interface=interface,
    )


def new_instance_id() -> str:
    """Return an id of the form that EC2 uses."""
    return f"i-{secrets.token_hex(9)[:17]}"


def resized(group: InstanceGroup, count: int) -> InstanceGroup:
    """Return a group as it would be if it had been asked for with `count` instances."""
    smallest = min(group.min_instance_count, count)
    request = {**group.request, "InstanceCount": count}
    if "MinInstanceCount" in request:
        request["MinInstanceCount"] = smallest
    return replace(group, instance_count=count, min_instance_count=smallest, request=request)


def staying_members(cluster: Cluster, group_name: str) -> list[ClusterNode]:
    """Return the nodes of a group that are not on their way out, oldest first."""
    return [node for node in cluster.members(group_name) if not node.is_leaving]


def surplus_nodes(cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> list[ClusterNode]:
    """Return the nodes that the desired groups have no place for: the newest of each group.

    HyperPod chooses at random (developer guide, "Scaling down").
    """
    counts = {group.name: group.instance_count for group in desired}
    names = dict.fromkeys(node.group for node in list(cluster.nodes))
    return [
        node for name in names for node in staying_members(cluster, name)[counts.get(name, 0) :]
    ]
