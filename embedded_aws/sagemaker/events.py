"""Events of clusters and nodes, for ListClusterEvents and for EventBridge.

The descriptions are those of the developer guide, "SageMaker HyperPod cluster events reference";
the events for EventBridge are those of "Events that Amazon SageMaker AI sends to Amazon
EventBridge". Instances of a cluster that is not provisioned continuously send no cluster events.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from embedded_aws.cluster import (
    Cluster,
    ClusterEvent,
    ClusterNode,
    ClusterOperation,
    InstanceGroup,
)
from embedded_aws.ids import ids
from embedded_aws.sagemaker.describe import cluster_shape, event_shape


def cluster_begins(cluster: Cluster, operation: str) -> ClusterEvent:
    """Return the start event of a cluster's creation, update or deletion."""
    return _of_cluster(f"Cluster {cluster.name} {operation} started successfully", None)


def cluster_ends(cluster: Cluster, operation: str, failure: str | None = None) -> ClusterEvent:
    """Return the end event of a cluster's creation, update or deletion."""
    return _of_cluster(f"Cluster {cluster.name} {operation} {_ended(failure)}", failure)


def group_scales(
    cluster: Cluster, group: InstanceGroup, operation: ClusterOperation | None = None
) -> ClusterEvent:
    """Return the start event of a group's scaling."""
    return ClusterEvent(
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
        operation_id=operation.id if operation else None,
    )


def patching_begins(cluster: Cluster, group: str, strategy: str) -> ClusterEvent:
    """Return the start event of a group's software update."""
    return _of_group(
        group,
        f"UpdateClusterSoftware initiated for {_where(cluster, group)} using {strategy} strategy.",
    )


def patching_ends(cluster: Cluster, group: str, failure: str | None = None) -> ClusterEvent:
    """Return the end event of a group's software update."""
    words = "UpdateClusterSoftware completed successfully"
    if failure is not None:
        words = "Failed to complete UpdateClusterSoftware"
    return _of_group(group, f"{words} for {_where(cluster, group)}.", failure)


def creation_ends(cluster: Cluster, node: ClusterNode, failure: str | None = None) -> ClusterEvent:
    """Return the end event of an instance's creation."""
    if failure is not None:
        words = f"Instance creation in Cluster {cluster.name} and InstanceGroup {node.group} failed"
        return _of_instance(node, words, failure)
    return _operation_ends(cluster, node, "creation", None)


def replacement_begins(cluster: Cluster, node: ClusterNode) -> ClusterEvent:
    """Return the start event of an instance's replacement."""
    words = f"Instance {node.instance_id} is starting as part of instance replacement"
    return _of_instance(node, f"{words} {_among(cluster, node)}")


def replacement_ends(
    cluster: Cluster, node: ClusterNode, failure: str | None = None
) -> ClusterEvent:
    """Return the end event of an instance's replacement."""
    words = f"Instance {node.instance_id} creation {_ended(failure)} as part of instance"
    return _of_instance(node, f"{words} replacement {_among(cluster, node)}", failure)


def reboot_begins(cluster: Cluster, node: ClusterNode) -> ClusterEvent:
    """Return the start event of an instance's reboot."""
    words = f"Reboot of EC2 Instance {node.instance_id} is currently in progress on Cluster"
    return _of_instance(node, f"{words} {cluster.name} and IG {node.group}")


def reboot_ends(cluster: Cluster, node: ClusterNode, failure: str | None = None) -> ClusterEvent:
    """Return the end event of an instance's reboot."""
    return _operation_ends(cluster, node, "reboot", failure)


def termination_begins(cluster: Cluster, node: ClusterNode) -> ClusterEvent:
    """Return the start event of an instance's termination."""
    words = f"Termination of EC2 Instance {node.instance_id} is currently in progress"
    return _of_instance(node, f"{words} {_among(cluster, node)}")


def root_volume_begins(_: Cluster, node: ClusterNode) -> ClusterEvent:
    """Return the start event of a root volume replacement by a software update."""
    words = f"Root volume replacement started for Instance {node.instance_id} in IG {node.group}."
    return _of_instance(node, words)


def root_volume_ends(_: Cluster, node: ClusterNode, failure: str | None = None) -> ClusterEvent:
    """Return the end event of an instance's software update.

    The reference has no message for a failure in clusters with Slurm.
    """
    how = "updated successfully" if failure is None else "failed to update"
    words = f"Instance {node.instance_id} in IG {node.group} {how}."
    return _of_instance(node, words, failure)


def slurmdbd_health(cluster: Cluster, reason: str | None) -> ClusterEvent:
    """Return the event that slurmdbd is unhealthy or, without a reason, healthy again.

    The metadata are those of SlurmHealthMetadata (API reference). The message is not documented.
    """
    how = f"unhealthy: {reason}" if reason else "healthy"
    status = {"Status": "Unhealthy", "Reason": reason} if reason else {"Status": "Healthy"}
    return ClusterEvent(
        "Cluster",
        f"Slurmdbd on the controller of Cluster {cluster.name} is {how}",
        "SlurmHealth",
        {"Component": "Slurmdbd", **status},
        warns=reason is not None,
    )


def database_changes(
    cluster: Cluster, failure: str | None = None, rollback: str | None = None
) -> ClusterEvent:
    """Return the event of a change of the accounting database, with the reason if it failed.

    The metadata are those of DatabaseConfigurationMetadata. The message is not documented.
    """
    return ClusterEvent(
        "Cluster",
        f"Accounting database change of Cluster {cluster.name} {_ended(failure)}",
        "DatabaseConfiguration",
        {} if rollback is None else {"RollbackStatus": rollback},
        failure=failure,
    )


def _of_cluster(description: str, failure: str | None) -> ClusterEvent:
    return ClusterEvent("Cluster", description, "Cluster", {}, failure=failure)


def _of_group(group: str, description: str, failure: str | None = None) -> ClusterEvent:
    return ClusterEvent(
        "InstanceGroup", description, "InstanceGroup", {}, group=group, failure=failure
    )


def _operation_ends(
    cluster: Cluster, node: ClusterNode, operation: str, failure: str | None
) -> ClusterEvent:
    words = f"Instance {operation} {node.instance_id} {_among(cluster, node)} {_ended(failure)}"
    return _of_instance(node, words, failure)


def _of_instance(node: ClusterNode, description: str, failure: str | None = None) -> ClusterEvent:
    metadata: dict[str, Any] = {"NodeLogicalId": node.logical_id}
    if node.interface is not None:
        metadata["CustomerEni"] = node.interface.interface_id
    return ClusterEvent(
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


Event = dict[str, Any]

SOURCE = "aws.sagemaker"


def state_change(cluster: Cluster) -> Event:
    """Return the event of a cluster's status change; it describes the whole cluster."""
    shape = cluster_shape(cluster)
    detail = {
        **shape,
        "CreationTime": _milliseconds(cluster.created_at),
        "FailureMessage": cluster.failure_message,
    }
    return _event("SageMaker HyperPod Cluster State Change", cluster, detail)


def node_health(cluster: Cluster, node: ClusterNode, *, reason: str, repair: str) -> Event:
    """Return the event that the health monitoring agent found a node unhealthy.

    `repair` is HyperPod's action: None, Reboot or Replace.
    """
    recommended = {"None": "Please replace the faulty node."}
    detail = {
        "ClusterName": cluster.name,
        "ClusterArn": cluster.arn,
        "InstanceId": node.instance_id,
        "Tags": dict(cluster.tags),
        "HealthSummary": {
            "HealthStatus": "Unhealthy",
            "HealthStatusReason": reason,
            "RepairAction": repair,
            "Recommendation": recommended.get(repair, "No action is required."),
        },
    }
    return _event("SageMaker HyperPod Cluster Node Health Event", cluster, detail)


def record(cluster: Cluster, event: ClusterEvent) -> None:
    """Store an event for ListClusterEvents, and send it; only with continuous provisioning."""
    if cluster.settings.is_continuous:
        cluster.events.append(event)
        cluster.tell(cluster_event(cluster, event))


def cluster_event(cluster: Cluster, event: ClusterEvent) -> Event:
    """Return the event for EventBridge, which lacks failure messages."""
    shape = event_shape(cluster, event)
    details = {**shape, "EventTime": _milliseconds(event.time)}
    if event.failure is not None:
        metadata = {**event.metadata, "FailureMessage": None}
        details["EventDetails"] = {"EventMetadata": {event.metadata_name: metadata}}
    return _event("SageMaker HyperPod Cluster Event", cluster, {"EventDetails": details})


def _event(kind: str, cluster: Cluster, detail: Event) -> Event:
    region, account = cluster.arn.split(":")[3:5]
    return {
        "version": "0",
        "id": ids.uuid("EventBridge event"),
        "detail-type": kind,
        "source": SOURCE,
        "account": account,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [cluster.arn],
        "detail": detail,
    }


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
