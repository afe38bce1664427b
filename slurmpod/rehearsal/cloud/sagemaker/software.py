"""From UpdateClusterSoftware's request to what the platform is asked to do. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.software import ALL_AT_ONCE, BatchSize, SoftwareUpdate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slurmpod.rehearsal.cloud.platform import Cluster

_WHOLE = 100


def read_software_update(cluster: Cluster, given: Mapping[str, Any]) -> SoftwareUpdate:
    """Return the update; raises ValidationException with everything that is wrong with it.

    The request is one that the model allows.

    WaitIntervalInSeconds is accepted, and nothing waits: a rehearsal has no traffic to watch.
    """
    refusals = list(_refusals(cluster, given))
    if refusals:
        raise ServiceError("ValidationException", "; ".join(refusals))
    policy = given.get("DeploymentConfig", {}).get("RollingUpdatePolicy", {})
    batch = _batch(policy.get("MaximumBatchSize"), ALL_AT_ONCE)
    return SoftwareUpdate(
        groups=tuple(_named(given)) or tuple(group.name for group in cluster.groups),
        batch=batch,
        rollback_batch=_batch(policy.get("RollbackMaximumBatchSize"), batch),
    )


def _refusals(cluster: Cluster, given: Mapping[str, Any]) -> Iterator[str]:
    existing = {group.name for group in cluster.groups}
    for name in _named(given):
        if name not in existing:
            yield f"Instance group {name} does not exist in cluster {cluster.name}"
    for group in given.get("InstanceGroups", []):
        if "ImageReleaseVersion" in group:
            yield "ImageReleaseVersion is not supported by the embedded AWS"
    config = given.get("DeploymentConfig", {})
    if "AutoRollbackConfiguration" in config:
        yield "AutoRollbackConfiguration is not supported by the embedded AWS"
    for size in config.get("RollingUpdatePolicy", {}).values():
        if size["Type"] == "CAPACITY_PERCENTAGE" and size["Value"] > _WHOLE:
            yield f"A batch cannot be {size['Value']} % of the cluster's instances"


def _named(given: Mapping[str, Any]) -> list[str]:
    return [group["InstanceGroupName"] for group in given.get("InstanceGroups", [])]


def _batch(given: Mapping[str, Any] | None, otherwise: BatchSize) -> BatchSize:
    if given is None:
        return otherwise
    return BatchSize(given["Value"], is_percentage=given["Type"] == "CAPACITY_PERCENTAGE")
