"""AWS::SageMaker::Cluster: a HyperPod cluster; Ref gives its ARN, the type's primary identifier."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

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
    in_place = frozenset({"Tags"})

    def create(self, request: ResourceRequest) -> str:
        """Create the cluster."""
        given = {"ClusterName": request.generated_name(_NAME_LENGTH), **request.given(*_CREATION)}
        return request.aws.sagemaker.create_cluster(**given)["ClusterArn"]

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Wait until the cluster is in service; its failure message becomes the reason."""
        while True:
            cluster = request.aws.sagemaker.describe_cluster(ClusterName=physical_id)
            if cluster["ClusterStatus"] == "InService":
                return
            if cluster["ClusterStatus"] == "Failed":
                raise ProviderError(cluster.get("FailureMessage", "The cluster failed"))
            time.sleep(_POLL_SECONDS)

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
        """Set the tags anew; UpdateCluster is not part of the embedded AWS."""
        sagemaker = request.aws.sagemaker
        old_keys = [tag["Key"] for tag in previous.get("Tags", [])]
        sagemaker.delete_tags(ResourceArn=physical_id, TagKeys=old_keys)
        sagemaker.add_tags(ResourceArn=physical_id, Tags=request.properties.get("Tags", []))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the cluster and wait until it is gone."""
        sagemaker = request.aws.sagemaker
        sagemaker.delete_cluster(ClusterName=physical_id)
        while True:
            try:
                cluster = sagemaker.describe_cluster(ClusterName=physical_id)
            except sagemaker.exceptions.ResourceNotFound:
                return
            if cluster["ClusterStatus"] == "Failed":
                raise ProviderError(cluster.get("FailureMessage", "The deletion failed"))
            time.sleep(_POLL_SECONDS)
