"""AWS::SageMaker::Cluster: a HyperPod cluster; Ref gives its ARN, the type's primary identifier."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from slurmpod.aws.errors import suppressed
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_CREATION = (
    "ClusterName",
    "InstanceGroups",
    "NodeProvisioningMode",
    "NodeRecovery",
    "Orchestrator",
    "Tags",
    "VpcConfig",
)
_POLL_SECONDS = 0.2
_NAME_LENGTH = 63


class Cluster(Provider):
    """A cluster; the resource is complete when the cluster is in service."""

    type = "AWS::SageMaker::Cluster"
    supported = frozenset(_CREATION)
    in_place = frozenset({"InstanceGroups", "NodeRecovery", "Orchestrator", "Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the cluster."""
        given = {"ClusterName": request.generated_name(_NAME_LENGTH), **request.given(*_CREATION)}
        return request.aws.sagemaker.create_cluster(**given)["ClusterArn"]

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Wait until the cluster is in service; its failure message becomes the reason."""
        _wait_until_in_service(request, physical_id)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the cluster's read-only properties."""
        cluster = request.aws.sagemaker.describe_cluster(ClusterName=physical_id)
        return {
            "ClusterArn": cluster["ClusterArn"],
            "ClusterStatus": cluster["ClusterStatus"],
            "CreationTime": cluster["CreationTime"].isoformat(),
            "FailureMessage": cluster.get("FailureMessage", ""),
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change groups and settings with UpdateCluster, and wait for it; set the tags anew."""
        sagemaker, changes = request.aws.sagemaker, _changes(previous, request.properties)
        if changes:
            changes |= _groups_to_delete(request, physical_id)
            sagemaker.update_cluster(ClusterName=physical_id, **changes)
            _wait_until_in_service(request, physical_id)
        old_keys = [tag["Key"] for tag in previous.get("Tags", [])]
        sagemaker.delete_tags(ResourceArn=physical_id, TagKeys=old_keys)
        sagemaker.add_tags(ResourceArn=physical_id, Tags=request.properties.get("Tags", []))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the cluster and wait until it is gone."""
        sagemaker = request.aws.sagemaker
        sagemaker.delete_cluster(ClusterName=physical_id)
        with suppressed("ResourceNotFound"):
            while True:
                cluster = sagemaker.describe_cluster(ClusterName=physical_id)
                if cluster["ClusterStatus"] == "Failed":
                    raise ProviderError(cluster.get("FailureMessage", "The deletion failed"))
                time.sleep(_POLL_SECONDS)


def _wait_until_in_service(request: ResourceRequest, physical_id: str) -> None:
    """Return when nothing is under way any more; raises ProviderError with what went wrong.

    A cluster whose update failed is in service, as it was before, and says why it failed.
    """
    while True:
        cluster = request.aws.sagemaker.describe_cluster(ClusterName=physical_id)
        if cluster["ClusterStatus"] in ("Failed", "InService"):
            break
        time.sleep(_POLL_SECONDS)
    failure = cluster.get("FailureMessage")
    if failure or cluster["ClusterStatus"] == "Failed":
        raise ProviderError(failure or "The cluster failed")


def _changes(previous: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of UpdateCluster that differ."""
    return {
        name: properties[name]
        for name in ("InstanceGroups", "NodeRecovery", "Orchestrator")
        if name in properties and properties[name] != previous.get(name)
    }


def _groups_to_delete(request: ResourceRequest, physical_id: str) -> dict[str, list[str]]:
    """Return UpdateCluster's argument for the groups that the template does not have any more.

    The cluster tells which there are: when a failed update is taken back, not all may be.
    """
    wanted = {group["InstanceGroupName"] for group in request.properties["InstanceGroups"]}
    cluster = request.aws.sagemaker.describe_cluster(ClusterName=physical_id)
    existing = [group["InstanceGroupName"] for group in cluster["InstanceGroups"]]
    gone = [name for name in existing if name not in wanted]
    return {"InstanceGroupsToDelete": gone} if gone else {}
