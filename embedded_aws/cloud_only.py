"""A platform without machines: nodes exist in the API only, and run at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from embedded_aws.cluster import (
    Cluster,
    ClusterNode,
    InstanceGroup,
    SoftwareUpdate,
    new_instance_id,
    new_node,
    surplus_nodes,
)


class CloudOnlyPlatform:
    """For rehearsals of the infrastructure alone: boots nothing, addresses come from the subnet."""

    def create(self, cluster: Cluster) -> None:
        """Add the nodes of every group, in the order of the request."""
        self.update(cluster, cluster.groups)

    def update(self, cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> None:
        """Take away the nodes that are too many, and add those that are missing."""
        self.remove(cluster, surplus_nodes(cluster, desired))
        cluster.groups = desired
        for group in desired:
            while len(cluster.members(group.name)) < group.instance_count:
                node = new_node(cluster, group)
                node.status = "Running"
                cluster.nodes.append(node)

    def delete(self, cluster: Cluster) -> None:
        """Forget the nodes."""
        cluster.nodes.clear()

    def replace(self, cluster: Cluster, node: ClusterNode) -> None:  # noqa: ARG002
        """Give a node another instance."""
        node.instance_id, node.launched_at = new_instance_id(), datetime.now(UTC)
        node.status = "Running"

    def reboot(self, cluster: Cluster, node: ClusterNode) -> None:  # noqa: ARG002
        """Let a node run again."""
        node.status = "Running"

    def remove(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Forget some nodes; their addresses become free."""
        for node in nodes:
            cluster.nodes.remove(node)
            if node.interface:
                cluster.network.delete_interface(node.interface.interface_id)

    def update_software(self, cluster: Cluster, update: SoftwareUpdate) -> None:
        """Note that nodes have other software now."""
        for node in cluster.nodes:
            if node.group in update.groups:
                node.updated_at = datetime.now(UTC)
        cluster.software_updates |= dict.fromkeys(update.groups, "Succeeded")
