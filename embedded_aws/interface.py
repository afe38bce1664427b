"""The interface to whoever runs the embedded AWS, and a platform without machines.

Nodes of that platform exist in the API only, and run at once. Nothing here imports moto or boto3,
so that what is given costs nothing to import.
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
    """HyperPod's own part: makes nodes out of a cluster's description."""

    def create(self, cluster: Cluster) -> None:
        """Fill `cluster.nodes` and return once it is in service; raises ClusterFailed.

        A continuously provisioned cluster is in service before all its nodes are.
        """

    def update(self, cluster: Cluster, desired: tuple[InstanceGroup, ...]) -> None:
        """Make the cluster's groups and nodes what is desired, and return once they are.

        Raises ClusterFailed, with groups and nodes as they were before.
        """

    def delete(self, cluster: Cluster) -> None:
        """Remove all nodes, also of a cluster whose creation failed half-way."""

    def replace(self, cluster: Cluster, node: ClusterNode) -> None:
        """Put a new instance in a node's place; raises ClusterFailed when it does not come up."""

    def reboot(self, cluster: Cluster, node: ClusterNode) -> None:
        """Shut a node down and start it again; raises ClusterFailed when it does not come up."""

    def check_health(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Check nodes in status DeepHealthCheckInProgress; return when none has it any more."""

    def remove(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Take nodes away for good; their groups are smaller by them already."""

    def update_software(self, cluster: Cluster, update: SoftwareUpdate) -> None:
        """Put new software on nodes; raises ClusterFailed after going back to the old one."""

    def ends_plan(self, arn: str) -> bool:
        """Return whether a training plan ends before its time."""


class InstanceFacts(Protocol):
    """Facts about an instance type that HyperPod's rules ask for."""

    @property
    def valid_threads_per_core(self) -> frozenset[int]:
        """The numbers of threads that a core can run."""

    @property
    def accelerator_kind(self) -> str:
        """`gpu` for GPUs, any other word or nothing for everything else."""


InstanceTypes = Mapping[str, InstanceFacts]
"""Facts by the type's name; nothing is refused for a type that is not in it."""

NO_INSTANCE_TYPES: InstanceTypes = MappingProxyType({})


Quotas = Mapping[tuple[str, str], float]
"""Values that an account has otherwise than AWS's defaults, by the codes of service and quota."""

NO_QUOTAS: Quotas = MappingProxyType({})


class Workspaces(Protocol):
    """Servers at the addresses of workspaces of Amazon Managed Service for Prometheus."""

    def answer(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> list[bytes] | None:
        """Answer a WSGI request to a workspace; return None for a request to anything else."""


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

    def replace(self, cluster: Cluster, node: ClusterNode) -> None:
        """Give a node another instance."""
        node.instance_id, node.launched_at = new_instance_id(), datetime.now(UTC)
        node.status = "Running"

    def reboot(self, cluster: Cluster, node: ClusterNode) -> None:
        """Let a node run again."""
        node.status = "Running"

    def check_health(self, cluster: Cluster, nodes: Sequence[ClusterNode]) -> None:
        """Find nothing wrong."""
        for node in nodes:
            node.status = RUNNING

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
                node.renew(cluster.group(node.group).image_id)
        cluster.software_updates |= dict.fromkeys(update.groups, "Succeeded")

    def ends_plan(self, arn: str) -> bool:
        """Return that no plan does."""
        del arn
        return False
