"""The interfaces that a caller of the embedded AWS implements, and a platform without machines.

Nodes of that platform exist in the API only, and run at once. This file imports neither moto nor
boto3, so that implementations import quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Protocol

from embedded_aws.cluster import (
    RUNNING,
    Cluster,
    ClusterNode,
    InstanceGroup,
    SoftwareUpdate,
    new_instance_id,
    new_node,
    surplus_nodes,
)


class ClusterPlatform(Protocol):
    """The HyperPod platform: creates the nodes of a cluster."""

    def create(self, cluster: Cluster) -> None:
        """Fill `cluster.nodes` and return once it is in service; raises ClusterFailed.

        A continuously provisioned cluster is in service before all its nodes are.
        """

    def update(self, cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> None:
        """Change the cluster's groups and nodes to the desired ones, and return once done.

        Raises ClusterFailed, with groups and nodes as they were before.
        """

    def delete(self, cluster: Cluster) -> None:
        """Remove all nodes, also of a cluster whose creation failed halfway."""

    def replace(self, cluster: Cluster, node: ClusterNode) -> None:
        """Replace a node's instance; raises ClusterFailed if the new one does not come up."""

    def reboot(self, cluster: Cluster, node: ClusterNode) -> None:
        """Reboot a node; raises ClusterFailed if it does not come up."""

    def check_health(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Check nodes in status DeepHealthCheckInProgress; return once all are checked."""

    def remove(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Remove nodes permanently; their groups have been shrunk already."""

    def update_software(self, cluster: Cluster, update: SoftwareUpdate) -> None:
        """Update the software of nodes; raises ClusterFailed after a rollback."""

    def ends_plan(self, arn: str) -> bool:
        """Return whether a training plan ends early."""


class InstanceFacts(Protocol):
    """Facts about an instance type that HyperPod's rules need."""

    @property
    def valid_threads_per_core(self) -> frozenset[int]:
        """Valid numbers of threads per core."""

    @property
    def accelerator_kind(self) -> str:
        """`gpu` for GPUs, any other text or empty for everything else."""


InstanceTypes = Mapping[str, InstanceFacts]
"""Facts by instance type; unknown types are not checked."""

NO_INSTANCE_TYPES: InstanceTypes = MappingProxyType({})


Quotas = Mapping[tuple[str, str], float]
"""Quota values that differ from AWS's defaults, by service code and quota code."""

NO_QUOTAS: Quotas = MappingProxyType({})


class Workspaces(Protocol):
    """Servers for the workspaces of Amazon Managed Service for Prometheus."""

    def answer(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> list[bytes] | None:
        """Answer a WSGI request to a workspace; return None for a request to anything else."""


class CloudOnlyPlatform:
    """A platform for infrastructure-only rehearsals: no machines boot, but addresses are used."""

    def create(self, cluster: Cluster) -> None:
        """Add the nodes of every group, in the order of the request."""
        self.update(cluster, cluster.groups)

    def update(self, cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> None:
        """Remove surplus nodes and add missing ones."""
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

    def replace(self, cluster: Cluster, node: ClusterNode) -> None:
        """Give a node a new instance."""
        node.instance_id, node.launched_at = new_instance_id(), datetime.now(UTC)
        node.status = "Running"

    def reboot(self, cluster: Cluster, node: ClusterNode) -> None:
        """Set the node's status to running."""
        node.status = "Running"

    def check_health(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Report all nodes as healthy."""
        for node in nodes:
            node.status = RUNNING

    def remove(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Forget some nodes and free their addresses."""
        for node in nodes:
            cluster.nodes.remove(node)
            if node.interface:
                cluster.network.delete_interface(node.interface.interface_id)

    def update_software(self, cluster: Cluster, update: SoftwareUpdate) -> None:
        """Record the software update of the nodes."""
        for node in cluster.nodes:
            if node.group in update.groups:
                node.renew(cluster.group(node.group).image_id)
        cluster.software_updates |= dict.fromkeys(update.groups, "Succeeded")

    def ends_plan(self, arn: str) -> bool:
        """Return False: no plan ends early."""
        del arn
        return False
