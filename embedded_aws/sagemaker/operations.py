"""Long-running operations on clusters, for ListClusterOperations.

A new scaling operation supersedes one that is in progress. Source: API
reference, ListClusterOperations, DescribeClusterOperation and ClusterInstanceGroupDetails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from embedded_aws.cluster import Cluster, ClusterOperation, InstanceGroup
from embedded_aws.errors import ServiceError
from embedded_aws.sagemaker.describe import Entry, list_page

Shape = dict[str, Any]

SCALING, HEALTH_CHECK = "Scaling", "DeepHealthCheck"
_IN_PROGRESS, _SUPERSEDED, _DONE = "InProgress", "Superseded", "Done"


def begin_scaling(
    cluster: Cluster, before: Iterable[InstanceGroup], after: Iterable[InstanceGroup]
) -> ClusterOperation | None:
    """Record and return a scaling operation; None if no group changes its size."""
    old = {group.name: group for group in before}
    changed = [g for g in after if _size(g) != _size(old.get(g.name))]
    if not changed:
        return None
    for operation in cluster.operations:
        if (operation.kind, operation.status) == (SCALING, _IN_PROGRESS):
            operation.status = _SUPERSEDED
    details = [_scaling(cluster, old.get(group.name), group) for group in changed]
    return begin(cluster, SCALING, details)


def begin(cluster: Cluster, kind: str, details: Sequence[Mapping[str, Any]]) -> ClusterOperation:
    """Record the start of an operation; `details` are by group, in the API's shape."""
    operation = ClusterOperation(kind, tuple(details))
    cluster.operations.append(operation)
    return operation


def end(operation: ClusterOperation | None) -> None:
    """Record the end of an operation, if there is one."""
    if operation is not None and operation.status == _IN_PROGRESS:
        operation.status = _DONE


def list_operations(cluster: Cluster, given: Mapping[str, Any]) -> Shape:
    """Answer ListClusterOperations, newest first by default."""
    entries = [
        Entry(operation.id, operation.began_at, _summary(cluster, operation))
        for operation in list(cluster.operations)
        if given.get("Type") in (None, operation.kind)
        and given.get("Status") in (None, operation.status)
    ]
    page, token = list_page(entries, {"SortOrder": "Descending", **given})
    return {"ClusterOperationSummaries": page, "NextToken": token}


def describe_operation(cluster: Cluster, operation_id: str) -> Shape:
    """Answer DescribeClusterOperation."""
    for operation in list(cluster.operations):
        if operation.id == operation_id:
            return {**_summary(cluster, operation), **_details(operation)}
    raise ServiceError(
        "ResourceNotFound", f"Operation {operation_id} does not exist in cluster {cluster.name}"
    )


def _summary(cluster: Cluster, operation: ClusterOperation) -> Shape:
    return {
        "OperationId": operation.id,
        "ClusterArn": cluster.arn,
        "Type": operation.kind,
        "Status": operation.status,
        "CreationTime": operation.began_at,
    }


def _details(operation: ClusterOperation) -> Shape:
    if operation.kind == HEALTH_CHECK:
        return {"DeepHealthCheckDetails": list(operation.details)}
    return {"ScalingDetails": [{**each, "Status": operation.status} for each in operation.details]}


def _scaling(cluster: Cluster, before: InstanceGroup | None, after: InstanceGroup) -> Shape:
    current = {"CurrentCount": len(cluster.members(after.name))}
    return {
        "InstanceGroupName": after.name,
        "Original": current | _counts(before),
        "Desired": _counts(after),
    }


def _counts(group: InstanceGroup | None) -> Shape:
    target, smallest = _size(group)
    return {"TargetCount": target, "MinCount": smallest}


def _size(group: InstanceGroup | None) -> tuple[int, int]:
    return (group.instance_count, group.min_instance_count) if group else (0, 0)
