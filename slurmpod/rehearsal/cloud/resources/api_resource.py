"""Resources that one API call makes, one changes and one deletes: subclasses say which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from slurmpod.rehearsal.cloud.constraints import summary, violations
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest
from slurmpod.rehearsal.cloud.resources.tags import retag_by_arn

if TYPE_CHECKING:
    from collections.abc import Mapping


class ApiResource(Provider):
    """A resource whose properties are the arguments of the call that makes it.

    Ref gives `identity`, which also names the resource in the calls that change and delete it.
    """

    service: ClassVar[str]
    creation: ClassVar[str]
    """Names of calls, as boto3 writes them."""
    change: ClassVar[str]
    deletion: ClassVar[str]
    identity: ClassVar[str]
    tagged_by: ClassVar[str | None] = None
    """The name under which TagResource takes the ARN; the ARN is the attribute `arn_attribute`."""
    arn_attribute: ClassVar[str] = "Arn"

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the arguments of the call that makes the resource."""
        return dict(request.properties)

    def identify(self, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> str:  # noqa: ARG002
        """Return the id of what was made."""
        return str(arguments[self.identity])

    def create(self, request: ResourceRequest) -> str:
        """Make the resource."""
        arguments = self.arguments(request)
        return self.identify(arguments, self.call(request, self.creation, arguments))

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change what can change, and set the tags anew."""
        arguments = request.given(*sorted(self.in_place - {"Tags"}))
        self.call(request, self.change, {self.identity: physical_id, **arguments})
        if self.tagged_by:
            arn = str(self.attributes(request, physical_id)[self.arn_attribute])
            retag_by_arn(self.service, request, previous, **{self.tagged_by: arn})

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the resource."""
        self.call(request, self.deletion, {self.identity: physical_id})

    def call(self, request: ResourceRequest, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call the service; raises ProviderError for what its own model does not allow."""
        client = request.aws.service(self.service)
        operation = client.meta.method_to_api_mapping[name]
        problems = violations(self.service, operation, arguments)
        if problems:
            raise ProviderError(summary(problems))
        return getattr(client, name)(**arguments)
