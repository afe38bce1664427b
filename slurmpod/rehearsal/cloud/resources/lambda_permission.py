"""AWS::Lambda::Permission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class Permission(Provider):
    """A statement in the policy of a function; every change replaces it."""

    type = "AWS::Lambda::Permission"
    supported = frozenset({"Action", "FunctionName", "Principal", "SourceAccount", "SourceArn"})

    def create(self, request: ResourceRequest) -> str:
        """Add the statement."""
        statement_id = request.generated_name(100)
        request.aws.service("lambda").add_permission(
            StatementId=statement_id, **request.given(*self.supported)
        )
        return statement_id

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the id under its own name."""
        return {"Id": physical_id}

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Remove the statement."""
        request.aws.service("lambda").remove_permission(
            FunctionName=request.properties["FunctionName"], StatementId=physical_id
        )
