"""AWS::Lambda::LayerVersion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class LayerVersion(Provider):
    """One version of a layer; Ref gives its ARN."""

    type = "AWS::Lambda::LayerVersion"
    supported = frozenset(
        {
            "CompatibleArchitectures",
            "CompatibleRuntimes",
            "Content",
            "Description",
            "LayerName",
            "LicenseInfo",
        }
    )

    def create(self, request: ResourceRequest) -> str:
        """Publish the version."""
        answer = request.aws.service("lambda").publish_layer_version(
            LayerName=request.properties.get("LayerName") or request.generated_name(),
            **request.given(*sorted(self.supported - {"LayerName"})),
        )
        return str(answer["LayerVersionArn"])

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the ARN under its own name."""
        return {"LayerVersionArn": physical_id}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the version."""
        name, version = physical_id.split(":")[-2:]
        request.aws.service("lambda").delete_layer_version(
            LayerName=name, VersionNumber=int(version)
        )
