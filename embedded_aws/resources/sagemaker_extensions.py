"""SageMaker: extensions of HyperPod clusters. Ref gives the ARN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.resources.api_resource import ApiResource
from embedded_aws.resources.provider import ResourceRequest


class Extension(ApiResource):
    """Software that HyperPod installs on all nodes of a cluster; calls also name the cluster."""

    type = "AWS::SageMaker::Extension"
    in_place = frozenset({"ConfigurationValues", "ExtensionVersion"})
    supported = in_place | {"ClusterArn", "ExtensionName", "Tags"}
    service = "sagemaker"
    creation, change = "create_cluster_extension", "update_cluster_extension"
    deletion = "delete_cluster_extension"
    identity = "ExtensionArn"
    answer = ("ExtensionArn",)
    checked_by_model = True
    id_attributes = ("ExtensionArn",)

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the properties, which are the arguments of the call, including tags."""
        return dict(request.properties)

    def changes(self, request: ResourceRequest, previous: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changed properties, and the cluster."""
        changed = {
            name: value
            for name, value in super().changes(request, previous).items()
            if value != previous.get(name)
        }
        return {"ClusterArn": request.properties["ClusterArn"], **changed}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Remove it from the cluster."""
        cluster = request.properties["ClusterArn"]
        self.call(request, self.deletion, {"ClusterArn": cluster, self.identity: physical_id})

    def actual(self, request: ResourceRequest, physical_id: str) -> dict[str, Any] | None:
        """Return the described properties; settings include their defaults."""
        cluster = request.properties["ClusterArn"]
        found = _described(request.aws, cluster, physical_id)
        return {name: found[name] for name in request.properties if name in found}


def _described(aws: Clients, cluster_arn: str, extension_arn: str) -> Mapping[str, Any]:
    sagemaker: Any = aws.sagemaker
    details: Mapping[str, Any] = sagemaker.describe_cluster_extension(
        ClusterArn=cluster_arn, ExtensionArn=extension_arn
    )["ExtensionDetails"]
    return details
