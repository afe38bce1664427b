"""SageMaker: HyperPod clusters."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from embedded_aws.errors import suppressed
from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging

_POLL_SECONDS = 0.2


class Cluster(ApiResource):
    """A cluster, complete when it is in service; Ref gives its ARN, the primary identifier."""

    type = "AWS::SageMaker::Cluster"
    in_place = frozenset(
        {"InstanceGroups", "NodeProvisioningMode", "NodeRecovery", "Orchestrator", "Tags"}
    )
    supported = in_place | {"ClusterName", "VpcConfig"}
    service = "sagemaker"
    creation, deletion = "create_cluster", "delete_cluster"
    identity = "ClusterName"
    answer = ("ClusterArn",)
    naming = Naming("ClusterName", 63)
    described_by = DescribeCall("describe_cluster", "ClusterName")
    tagging = Tagging("ResourceArn", tag="add_tags", untag="delete_tags")

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Wait until the cluster is in service; its failure message becomes the reason."""
        _wait_until_in_service(request, physical_id)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Look up the cluster's read-only properties."""
        cluster = self.described(request.aws, physical_id)
        return {
            "ClusterArn": cluster["ClusterArn"],
            "ClusterStatus": cluster["ClusterStatus"],
            "CreationTime": cluster["CreationTime"].isoformat(),
            "FailureMessage": cluster.get("FailureMessage", ""),
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change groups and settings with UpdateCluster, wait for it, and update the tags."""
        changes = _changes(previous, request.properties)
        if changes:
            changes |= _groups_to_delete(request, physical_id)
            self.call(request, "update_cluster", {"ClusterName": physical_id, **changes})
            _wait_until_in_service(request, physical_id)
        self.retag(request, physical_id, previous)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the cluster and wait until it is gone."""
        super().delete(request, physical_id)
        with suppressed("ResourceNotFound"):
            while True:
                cluster = self.described(request.aws, physical_id)
                if cluster["ClusterStatus"] == "Failed":
                    raise ProviderError(cluster.get("FailureMessage", "The deletion failed"))
                time.sleep(_POLL_SECONDS)


def _wait_until_in_service(request: ResourceRequest, physical_id: str) -> None:
    """Wait until the operation has ended; raises ProviderError with the reason if it failed.

    A cluster whose update failed is in service, as it was before, with the reason of the failure.
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
        for name in ("InstanceGroups", "NodeProvisioningMode", "NodeRecovery", "Orchestrator")
        if name in properties and properties[name] != previous.get(name)
    }


def _groups_to_delete(request: ResourceRequest, physical_id: str) -> dict[str, list[str]]:
    """Return UpdateCluster's argument for the groups that are no longer in the template.

    Only existing groups are listed: when a failed update is rolled back, some may not exist.
    """
    wanted = {group["InstanceGroupName"] for group in request.properties["InstanceGroups"]}
    cluster = request.aws.sagemaker.describe_cluster(ClusterName=physical_id)
    existing = [group["InstanceGroupName"] for group in cluster["InstanceGroups"]]
    gone = [name for name in existing if name not in wanted]
    return {"InstanceGroupsToDelete": gone} if gone else {}
