"""What the CDK's function for SDK calls does with a custom resource of ours.

It makes the call when the resource is created and when it changes, and nothing when it is deleted
(aws-cdk-lib 2.275.0, aws-custom-resource).
"""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class SdkCall(Provider):
    """A resource that is one call; it is named as the call says."""

    supported = frozenset({"Create", "InstallLatestAwsSdk", "ServiceToken", "Update"})
    in_place = frozenset({"Create", "InstallLatestAwsSdk", "Update"})

    @abstractmethod
    def make(self, request: ResourceRequest, call: Mapping[str, Any]) -> None:
        """Make the call as the template describes it."""

    def create(self, request: ResourceRequest) -> str:
        """Make the call of a new resource."""
        return self._made(request, "Create")

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Make the call of a changed resource."""
        self._made(request, "Update")

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Do nothing: what the call has done stays."""

    def _made(self, request: ResourceRequest, moment: str) -> str:
        call = json.loads(request.properties[moment])
        self.make(request, call)
        return str(call["physicalResourceId"]["id"])
