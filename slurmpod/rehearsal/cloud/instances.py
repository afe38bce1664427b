"""New instances of a cluster, as they are before anything runs on them."""

from __future__ import annotations

import secrets
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
        instance_id=f"i-{secrets.token_hex(9)[:17]}",  # the form that EC2 uses
        group=group.name,
        instance_type=group.instance_type,
        private_ip=interface.private_ip,
        private_dns_hostname=interface.private_dns_hostname,
        launched_at=datetime.now(UTC),
        interface=interface,
    )
