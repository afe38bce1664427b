"""What happened to a cluster, in the shapes of ListClusterEvents and DescribeClusterEvent. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.sagemaker.listing import Entry, list_page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.events.happenings import Happening
    from slurmpod.rehearsal.cloud.platform import Cluster

Shape = dict[str, Any]


def list_events(cluster: Cluster, given: Mapping[str, Any]) -> Shape:
    """Answer ListClusterEvents: the newest first, unless asked otherwise."""
    _check_mode(cluster, "ListClusterEvents")
    entries = [
        Entry(happening.event_id, happening.time, happening_summary_shape(cluster, happening))
        for happening in list(cluster.happenings)
        if _is_asked_for(happening, given)
    ]
    wanted = {
        "SortOrder": "Descending",
        **given,
        "CreationTimeAfter": given.get("EventTimeAfter"),
        "CreationTimeBefore": given.get("EventTimeBefore"),
    }
    page, token = list_page(entries, wanted)
    return {"Events": page, "NextToken": token}


def describe_event(cluster: Cluster, event_id: str) -> Shape:
    """Answer DescribeClusterEvent."""
    _check_mode(cluster, "DescribeClusterEvent")
    for happening in list(cluster.happenings):
        if happening.event_id == event_id:
            return {"EventDetails": happening_shape(cluster, happening)}
    raise ServiceError(
        "ResourceNotFound", f"Event {event_id} does not exist in cluster {cluster.name}"
    )


def happening_summary_shape(cluster: Cluster, happening: Happening) -> Shape:
    """Return an event without its metadata."""
    shape: Shape = {
        "EventId": happening.event_id,
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ResourceType": happening.resource_type,
        "EventTime": happening.time,
        "EventLevel": happening.level,
        "Description": happening.description,
    }
    if happening.group is not None:
        shape["InstanceGroupName"] = happening.group
    if happening.instance_id is not None:
        shape["InstanceId"] = happening.instance_id
    return shape


def happening_shape(cluster: Cluster, happening: Happening) -> Shape:
    """Return an event with all that is known of it."""
    metadata = dict(happening.metadata)
    if happening.failure is not None:
        metadata["FailureMessage"] = happening.failure
    return {
        **happening_summary_shape(cluster, happening),
        "EventDetails": {"EventMetadata": {happening.metadata_name: metadata}},
    }


def _is_asked_for(happening: Happening, given: Mapping[str, Any]) -> bool:
    """Tell whether an event passes the filters; none belongs to an operation with an id."""
    asked = (
        ("InstanceGroupName", happening.group),
        ("NodeId", happening.instance_id),
        ("ResourceType", happening.resource_type),
        ("OperationId", None),
    )
    return all(given.get(name) in (None, value) for name, value in asked)


def _check_mode(cluster: Cluster, operation: str) -> None:
    if not cluster.settings.is_continuous:
        raise ServiceError(
            "ValidationException",
            f"{operation} is only supported for clusters using Continuous as the "
            "NodeProvisioningMode",
        )
