"""AWS::SSM::Parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Parameter(Provider):
    """A parameter of the parameter store."""

    type = "AWS::SSM::Parameter"
    supported = frozenset({"Description", "Name", "Type", "Value"})
    in_place = frozenset({"Description", "Type", "Value"})

    def create(self, request: ResourceRequest) -> str:
        """Put the parameter."""
        name = str(request.properties.get("Name") or request.generated_name())
        self._put(request, name, overwrite=False)
        return name

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what the parameter holds."""
        return request.given("Type", "Value")

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Put the parameter anew."""
        self._put(request, physical_id, overwrite=True)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the parameter."""
        request.aws.service("ssm").delete_parameter(Name=physical_id)

    def _put(self, request: ResourceRequest, name: str, *, overwrite: bool) -> None:
        request.aws.service("ssm").put_parameter(
            Name=name, Overwrite=overwrite, **request.given("Description", "Type", "Value")
        )
