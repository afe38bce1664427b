"""What happens to a cluster, its groups and its instances, as ListClusterEvents tells it. Pure.

The descriptions are those of the developer guide, "SageMaker HyperPod cluster events reference".
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode, InstanceGroup


@dataclass(frozen=True)
class Happening:
    """One event: what it is about, in words, and as metadata under the API's name for them."""

    resource_type: str
    description: str
    metadata_name: str
    metadata: Mapping[str, Any]
    group: str | None = None
    instance_id: str | None = None
    failure: str | None = None
    event_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def level(self) -> str:
        """How bad it is."""
        return "Info" if self.failure is None else "Error"


def cluster_begins(cluster: Cluster, operation: str) -> Happening:
    """Return that a cluster's creation, update or deletion has begun."""
    return _of_cluster(f"Cluster {cluster.name} {operation} started successfully", None)


def cluster_ends(cluster: Cluster, operation: str, failure: str | None = None) -> Happening:
    """Return that it has ended, and how."""
    return _of_cluster(f"Cluster {cluster.name} {operation} {_ended(failure)}", failure)


def group_scales(cluster: Cluster, group: InstanceGroup) -> Happening:
    """Return that a group begins to have another number of instances."""
    return Happening(
        resource_type="InstanceGroup",
        description=f"InstanceGroup {group.name} scaling started successfully in "
        f"Cluster {cluster.name}",
        metadata_name="InstanceGroupScaling",
        metadata={
            "InstanceCount": len(cluster.members(group.name)),
            "TargetCount": group.instance_count,
            "MinCount": group.min_instance_count,
        },
        group=group.name,
    )


def patching_begins(cluster: Cluster, group: str, strategy: str) -> Happening:
    """Return that the instances of a group begin to get new software."""
    return _of_group(
        group,
        f"UpdateClusterSoftware initiated for {_where(cluster, group)} using {strategy} strategy.",
    )


def patching_ends(cluster: Cluster, group: str, failure: str | None = None) -> Happening:
    """Return that they have it, or that they have not."""
    words = "UpdateClusterSoftware completed successfully"
    if failure is not None:
        words = "Failed to complete UpdateClusterSoftware"
    return _of_group(group, f"{words} for {_where(cluster, group)}.", failure)


def creation_ends(cluster: Cluster, node: ClusterNode, failure: str | None = None) -> Happening:
    """Return that an instance came up, or did not."""
    if failure is not None:
        words = f"Instance creation in Cluster {cluster.name} and InstanceGroup {node.group} failed"
        return _of_instance(node, words, failure)
    return _operation_ends(cluster, node, "creation", None)


def replacement_begins(cluster: Cluster, node: ClusterNode) -> Happening:
    """Return that a new instance begins to take another one's place."""
    words = f"Instance {node.instance_id} is starting as part of instance replacement"
    return _of_instance(node, f"{words} {_among(cluster, node)}")


def replacement_ends(cluster: Cluster, node: ClusterNode, failure: str | None = None) -> Happening:
    """Return that it has taken it, or has not."""
    words = f"Instance {node.instance_id} creation {_ended(failure)} as part of instance"
    return _of_instance(node, f"{words} replacement {_among(cluster, node)}", failure)


def reboot_begins(cluster: Cluster, node: ClusterNode) -> Happening:
    """Return that an instance is shutting down to start again."""
    words = f"Reboot of EC2 Instance {node.instance_id} is currently in progress on Cluster"
    return _of_instance(node, f"{words} {cluster.name} and IG {node.group}")


def reboot_ends(cluster: Cluster, node: ClusterNode, failure: str | None = None) -> Happening:
    """Return that it is up again, or is not."""
    return _operation_ends(cluster, node, "reboot", failure)


def termination_begins(cluster: Cluster, node: ClusterNode) -> Happening:
    """Return that an instance goes."""
    words = f"Termination of EC2 Instance {node.instance_id} is currently in progress"
    return _of_instance(node, f"{words} {_among(cluster, node)}")


def root_volume_begins(_: Cluster, node: ClusterNode) -> Happening:
    """Return that an instance's root volume is replaced by that of other software."""
    words = f"Root volume replacement started for Instance {node.instance_id} in IG {node.group}."
    return _of_instance(node, words)


def root_volume_ends(_: Cluster, node: ClusterNode, failure: str | None = None) -> Happening:
    """Return that an instance runs its new software, or does not.

    The reference has no words for the latter in clusters with Slurm.
    """
    how = "updated successfully" if failure is None else "failed to update"
    words = f"Instance {node.instance_id} in IG {node.group} {how}."
    return _of_instance(node, words, failure)


def _of_cluster(description: str, failure: str | None) -> Happening:
    return Happening("Cluster", description, "Cluster", {}, failure=failure)


def _of_group(group: str, description: str, failure: str | None = None) -> Happening:
    return Happening(
        "InstanceGroup", description, "InstanceGroup", {}, group=group, failure=failure
    )


def _operation_ends(
    cluster: Cluster, node: ClusterNode, operation: str, failure: str | None
) -> Happening:
    words = f"Instance {operation} {node.instance_id} {_among(cluster, node)} {_ended(failure)}"
    return _of_instance(node, words, failure)


def _of_instance(node: ClusterNode, description: str, failure: str | None = None) -> Happening:
    metadata: dict[str, Any] = {"NodeLogicalId": node.logical_id}
    if node.interface is not None:
        metadata["CustomerEni"] = node.interface.interface_id
    return Happening(
        "Instance",
        description,
        "Instance",
        metadata,
        group=node.group,
        instance_id=node.instance_id,
        failure=failure,
    )


def _among(cluster: Cluster, node: ClusterNode) -> str:
    return f"in Cluster {cluster.name} and IG {node.group}"


def _where(cluster: Cluster, group: str) -> str:
    return f"IG {group} in Cluster {cluster.name}"


def _ended(failure: str | None) -> str:
    return "completed successfully" if failure is None else "failed"
