"""AWS::SSM::Parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Parameter(Provider):
    """A parameter of the parameter store."""

    type = "AWS::SSM::Parameter"
    supported = frozenset({"Description", "Name", "Tags", "Type", "Value"})
    in_place = frozenset({"Description", "Tags", "Type", "Value"})
    maps_tags = True

    def create(self, request: ResourceRequest) -> str:
        """Put the parameter."""
        name = str(request.properties.get("Name") or request.generated_name())
        self._put(request, name, overwrite=False)
        self._tag(request, name)
        return name

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what the parameter holds."""
        return request.given("Type", "Value")

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,
        previous: Mapping[str, Any],
    ) -> None:
        """Put the parameter anew, with the tags that it has now."""
        self._put(request, physical_id, overwrite=True)
        gone = sorted(previous.get("Tags", {}).keys() - request.properties.get("Tags", {}).keys())
        if gone:
            request.aws.service("ssm").remove_tags_from_resource(
                ResourceType="Parameter", ResourceId=physical_id, TagKeys=gone
            )
        self._tag(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the parameter."""
        request.aws.service("ssm").delete_parameter(Name=physical_id)

    def _put(self, request: ResourceRequest, name: str, *, overwrite: bool) -> None:
        request.aws.service("ssm").put_parameter(
            Name=name, Overwrite=overwrite, **request.given("Description", "Type", "Value")
        )

    def _tag(self, request: ResourceRequest, name: str) -> None:
        """Set the tags, which this type, unlike most, has as a mapping."""
        tags = [
            {"Key": key, "Value": value}
            for key, value in request.properties.get("Tags", {}).items()
        ]
        if tags:
            request.aws.service("ssm").add_tags_to_resource(
                ResourceType="Parameter", ResourceId=name, Tags=tags
            )
