"""AWS::CDK::Metadata: what the CDK writes about itself into templates; nothing is created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class CdkMetadata(Provider):
    """A resource that exists in the stack only."""

    type = "AWS::CDK::Metadata"
    supported = frozenset({"Analytics"})
    in_place = supported

    def create(self, request: ResourceRequest) -> str:
        """Return a name."""
        return request.generated_name()

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Do nothing."""

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Do nothing."""
