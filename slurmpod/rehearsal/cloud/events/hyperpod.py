"""The events that HyperPod sends about clusters and nodes.

Source: SageMaker AI developer guide, "Events that Amazon SageMaker AI sends to Amazon EventBridge",
and "SageMaker HyperPod cluster events reference". Instances of a cluster that is not provisioned
continuously send no cluster events.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.sagemaker.describe import cluster_shape
from slurmpod.rehearsal.cloud.sagemaker.event_shapes import happening_shape

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.events.happenings import Happening
    from slurmpod.rehearsal.cloud.platform import Cluster, ClusterNode

Event = dict[str, Any]

SOURCE = "aws.sagemaker"


def state_change(cluster: Cluster) -> Event:
    """Return the event that a cluster's status has changed; it describes the whole cluster."""
    shape = cluster_shape(cluster)
    detail = {
        **shape,
        "CreationTime": _milliseconds(cluster.created_at),
        "FailureMessage": cluster.failure_message,
    }
    return _event("SageMaker HyperPod Cluster State Change", cluster, detail)


def node_health(cluster: Cluster, node: ClusterNode, *, reason: str, repair: str) -> Event:
    """Return the event that the health monitoring agent holds a node for unhealthy.

    `repair` is what HyperPod does about it: None, Reboot or Replace.
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


def record(cluster: Cluster, happening: Happening) -> None:
    """Keep an event for ListClusterEvents, and send it; one of continuous provisioning only."""
    if cluster.settings.is_continuous:
        cluster.happenings.append(happening)
        cluster.tell(cluster_event(cluster, happening))


def cluster_event(cluster: Cluster, happening: Happening) -> Event:
    """Return what EventBridge gets to know: all but why something failed."""
    shape = happening_shape(cluster, happening)
    details = {**shape, "EventTime": _milliseconds(happening.time)}
    if happening.failure is not None:
        metadata = {**happening.metadata, "FailureMessage": None}
        details["EventDetails"] = {"EventMetadata": {happening.metadata_name: metadata}}
    return _event("SageMaker HyperPod Cluster Event", cluster, {"EventDetails": details})


def _event(kind: str, cluster: Cluster, detail: Event) -> Event:
    region, account = cluster.arn.split(":")[3:5]
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
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
