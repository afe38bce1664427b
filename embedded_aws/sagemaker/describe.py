"""Clusters, nodes and their events in the shapes of the SageMaker API, page by page. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from embedded_aws.cluster import RUNNING, Cluster, ClusterEvent, ClusterNode, InstanceGroup
from embedded_aws.errors import ServiceError

Shape = dict[str, Any]

_GROUP_ECHO = (
    "CapacityRequirements",
    "ExecutionRole",
    "InstanceStorageConfigs",
    "InstanceType",
    "LifeCycleConfig",
    "NetworkInterface",
    "OnStartDeepHealthChecks",
    "OverrideVpcConfig",
    "ScheduledUpdateConfig",
    "SlurmConfig",
    "ThreadsPerCore",
    "TrainingPlanArn",
)
"""Group members that DescribeCluster returns exactly as given to CreateCluster."""
_NODE_ECHO = (
    "InstanceStorageConfigs",
    "LifeCycleConfig",
    "NetworkInterface",
    "OverrideVpcConfig",
    "ThreadsPerCore",
)


def cluster_shape(cluster: Cluster) -> Shape:
    """Return a cluster as DescribeCluster does."""
    return {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ClusterStatus": cluster.status,
        "CreationTime": cluster.created_at,
        "FailureMessage": cluster.failure_message or None,
        "InstanceGroups": [_group_shape(cluster, group) for group in cluster.groups],
        **_given(
            cluster.request, ("NodeProvisioningMode", "NodeRecovery", "Orchestrator", "VpcConfig")
        ),
    }


def cluster_summary_shape(cluster: Cluster) -> Shape:
    """Return a cluster as ListClusters does."""
    return {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "CreationTime": cluster.created_at,
        "ClusterStatus": cluster.status,
        "TrainingPlanArns": training_plans(cluster) or None,
    }


def training_plans(cluster: Cluster) -> list[str]:
    """Return the training plans whose capacity the groups of a cluster use."""
    plans = (group.request.get("TrainingPlanArn") for group in cluster.groups)
    return sorted({plan for plan in plans if plan})


def node_shape(cluster: Cluster, node: ClusterNode) -> Shape:
    """Return a node as DescribeClusterNode does."""
    group = cluster.group(node.group)
    shape = {
        "InstanceGroupName": node.group,
        "InstanceId": node.instance_id,
        "InstanceStatus": _status(node),
        "InstanceType": node.instance_type,
        "LaunchTime": node.launched_at,
        "PrivatePrimaryIp": node.private_ip,
        "PrivateDnsHostname": node.private_dns_hostname,
        "CurrentImageId": node.image_id,
        "DesiredImageId": group.image_id,
        "CapacityType": next(iter(group.request.get("CapacityRequirements", ())), None),
        **_given(group.request, _NODE_ECHO),
        **_software(node),
    }
    if cluster.settings.is_continuous:
        shape["NodeLogicalId"] = node.logical_id
    if node.interface is not None:
        shape["Placement"] = {
            "AvailabilityZone": node.interface.availability_zone,
            "AvailabilityZoneId": node.interface.availability_zone_id,
        }
    return shape


def node_summary_shape(node: ClusterNode) -> Shape:
    """Return a node as ListClusterNodes does."""
    return {
        "InstanceGroupName": node.group,
        "InstanceId": node.instance_id,
        "InstanceType": node.instance_type,
        "LaunchTime": node.launched_at,
        "InstanceStatus": _status(node),
        "PrivateDnsHostname": node.private_dns_hostname,
        **_software(node),
    }


def _software(node: ClusterNode) -> Shape:
    return {} if node.updated_at is None else {"LastSoftwareUpdateTime": node.updated_at}


def _group_shape(cluster: Cluster, group: InstanceGroup) -> Shape:
    members = cluster.members(group.name)
    running = [node for node in members if node.status == RUNNING]
    return {
        "InstanceGroupName": group.name,
        "CurrentCount": len(running),
        "TargetCount": group.instance_count,
        "MinCount": group.request.get("MinInstanceCount"),
        "Status": _group_status(cluster, group, [node.status for node in members]),
        "CurrentImageId": _image_in_use(group, members),
        "DesiredImageId": group.image_id,
        "TargetStateCount": sum(node.image_id == group.image_id for node in running),
        "ActiveOperations": _active_operations(cluster, group),
        "SoftwareUpdateStatus": cluster.software_updates.get(group.name),
        **_instance_types(group, running),
        **_auto_patching(group.request),
        **_given(group.request, _GROUP_ECHO),
    }


def _image_in_use(group: InstanceGroup, members: Sequence[ClusterNode]) -> str | None:
    """Return an image still in use while other nodes already have the desired one."""
    images = {node.image_id for node in members} - {group.image_id}
    return images.pop() if images else group.image_id


def _active_operations(cluster: Cluster, group: InstanceGroup) -> Shape | None:
    scaling = any(
        group.name == details["InstanceGroupName"]
        for operation in list(cluster.operations)
        if (operation.kind, operation.status) == ("Scaling", "InProgress")
        for details in operation.details
    )
    return {"Scaling": 1} if scaling else None


def _group_status(cluster: Cluster, group: InstanceGroup, nodes: Sequence[str]) -> str:
    """Return a group's status, derived from those of the cluster and its nodes.

    In a cluster in service a group is Degraded while instances have failed, and Creating while it
    has fewer than the minimum of nodes. Source: API reference, ClusterInstanceGroupDetails.
    """
    if cluster.status == "RollingBack":  # the API has no such group status
        return "SystemUpdating"
    if cluster.status != "InService":
        return cluster.status
    if "Failure" in nodes:
        return "Degraded"
    return "Creating" if nodes.count(RUNNING) < group.min_instance_count else "InService"


def _instance_types(group: InstanceGroup, running: list[ClusterNode]) -> Shape:
    """Return the members that only groups with several possible instance types have."""
    if "InstanceRequirements" not in group.request:
        return {}
    counts = Counter(node.instance_type for node in running)
    return {
        "InstanceRequirements": {
            "CurrentInstanceTypes": sorted(counts) or None,
            "DesiredInstanceTypes": group.request["InstanceRequirements"]["InstanceTypes"],
        },
        "InstanceTypeDetails": [
            {
                "InstanceType": instance_type,
                "CurrentCount": count,
                "ThreadsPerCore": group.threads_per_core,
            }
            for instance_type, count in sorted(counts.items())
        ],
    }


def _auto_patching(request: Mapping[str, Any]) -> Shape:
    """Return a group's patching settings; the schedule has another name in descriptions."""
    if "AutoPatchConfig" not in request:
        return {}
    config = dict(request["AutoPatchConfig"])
    schedule = config.pop("PatchSchedule", None)
    if schedule:
        config |= {"CurrentPatchSchedule": schedule, "DesiredPatchSchedule": schedule}
    return {"AutoPatchConfig": config}


def _status(node: ClusterNode) -> Shape:
    return {"Status": node.status, "Message": node.message or None}


def _given(request: Mapping[str, Any], names: tuple[str, ...]) -> Shape:
    return {name: request[name] for name in names if name in request}


def list_events(cluster: Cluster, given: Mapping[str, Any]) -> Shape:
    """Answer ListClusterEvents, newest first by default."""
    _check_mode(cluster, "ListClusterEvents")
    entries = [
        Entry(event.event_id, event.time, event_summary_shape(cluster, event))
        for event in list(cluster.events)
        if _is_asked_for(event, given)
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
    for event in list(cluster.events):
        if event.event_id == event_id:
            return {"EventDetails": event_shape(cluster, event)}
    raise ServiceError(
        "ResourceNotFound", f"Event {event_id} does not exist in cluster {cluster.name}"
    )


def event_summary_shape(cluster: Cluster, event: ClusterEvent) -> Shape:
    """Return an event without its metadata."""
    shape: Shape = {
        "EventId": event.event_id,
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ResourceType": event.resource_type,
        "EventTime": event.time,
        "EventLevel": event.level,
        "Description": event.description,
    }
    if event.group is not None:
        shape["InstanceGroupName"] = event.group
    if event.operation_id is not None:
        shape["OperationId"] = event.operation_id
    if event.instance_id is not None:
        shape["InstanceId"] = event.instance_id
    return shape


def event_shape(cluster: Cluster, event: ClusterEvent) -> Shape:
    """Return an event with its metadata."""
    metadata = dict(event.metadata)
    if event.failure is not None:
        metadata["FailureMessage"] = event.failure
    return {
        **event_summary_shape(cluster, event),
        "EventDetails": {"EventMetadata": {event.metadata_name: metadata}},
    }


def _is_asked_for(event: ClusterEvent, given: Mapping[str, Any]) -> bool:
    """Return whether an event matches the filters."""
    asked = (
        ("InstanceGroupName", event.group),
        ("NodeId", event.instance_id),
        ("ResourceType", event.resource_type),
        ("OperationId", event.operation_id),
    )
    return all(given.get(name) in (None, value) for name, value in asked)


def _check_mode(cluster: Cluster, operation: str) -> None:
    if not cluster.settings.is_continuous:
        raise ServiceError(
            "ValidationException",
            f"{operation} is only supported for clusters using Continuous as the "
            "NodeProvisioningMode",
        )


_LARGEST_PAGE = 100


@dataclass(frozen=True)
class Entry:
    """One result: its sort key and its shape in the API."""

    name: str
    created_at: datetime
    shape: Mapping[str, Any]


def list_page(
    entries: Sequence[Entry], given: Mapping[str, Any]
) -> tuple[list[Mapping[str, Any]], str | None]:
    """Return one page of a List operation's results and the token of the next, if any.

    The token is the number of earlier results; raises ValidationException for an invalid one.
    """
    found = [entry for entry in entries if _is_between(entry.created_at, given)]
    by_name = given.get("SortBy") == "NAME"
    found.sort(key=lambda entry: entry.name if by_name else entry.created_at.isoformat())
    if given.get("SortOrder") == "Descending":
        found.reverse()
    start = _start(given.get("NextToken"))
    end = start + given.get("MaxResults", _LARGEST_PAGE)
    token = str(end) if end < len(found) else None
    return [entry.shape for entry in found[start:end]], token


def _start(token: str | None) -> int:
    if token is None:
        return 0
    if not token.isdecimal():
        raise ServiceError("ValidationException", "NextToken is not valid")
    return int(token)


def _is_between(moment: datetime, given: Mapping[str, Any]) -> bool:
    after, before = given.get("CreationTimeAfter"), given.get("CreationTimeBefore")
    return (after is None or moment > utc(after)) and (before is None or moment < utc(before))


def utc(moment: datetime) -> datetime:
    """Return a request's time, which arrives without a time zone and is in UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
