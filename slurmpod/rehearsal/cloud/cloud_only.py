"""A platform without machines: nodes exist in the API only, and run at once."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.platform import ClusterNode

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.platform import Cluster, InstanceGroup


class CloudOnlyPlatform:
    """For rehearsals of the infrastructure alone: boots nothing, addresses come from the subnet."""

    def create(self, cluster: Cluster) -> None:
        """Add the nodes of every group, in the order of the request."""
        for group in cluster.groups:
            for _ in range(group.instance_count):
                cluster.nodes.append(_running_node(cluster, group))

    def delete(self, cluster: Cluster) -> None:
        """Forget the nodes."""
        cluster.nodes.clear()


def new_instance_id() -> str:
    """Return an instance id of the form that EC2 uses: `i-` and 17 hexadecimal digits."""
    return f"i-{secrets.token_hex(9)[:17]}"


def _running_node(cluster: Cluster, group: InstanceGroup) -> ClusterNode:
    interface = cluster.network.create_interface(group)
    return ClusterNode(
        instance_id=new_instance_id(),
        group=group.name,
        instance_type=group.instance_type,
        private_ip=interface.private_ip,
        private_dns_hostname=interface.private_dns_hostname,
        launched_at=datetime.now(UTC),
        status="Running",
        interface=interface,
    )
