"""A platform without machines: nodes exist in the API only, and run at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.instances import new_node

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.platform import Cluster


class CloudOnlyPlatform:
    """For rehearsals of the infrastructure alone: boots nothing, addresses come from the subnet."""

    def create(self, cluster: Cluster) -> None:
        """Add the nodes of every group, in the order of the request."""
        for group in cluster.groups:
            for _ in range(group.instance_count):
                node = new_node(cluster, group)
                node.status = "Running"
                cluster.nodes.append(node)

    def delete(self, cluster: Cluster) -> None:
        """Forget the nodes."""
        cluster.nodes.clear()
