"""What every resource type has to offer to CloudFormation."""

from __future__ import annotations

import secrets
import string
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from slurmpod.rehearsal.cloud.cloudformation.template import ResourceDefinition, TemplateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.clients import Clients

_SUFFIX_LENGTH = 12


class ProviderError(Exception):
    """A resource could not be created, updated or deleted; the text is shown to the user."""


@dataclass(frozen=True)
class ResourceRequest:
    """A resource to work on: what the template says about it, resolved, and where it belongs."""

    logical_id: str
    type: str
    properties: Mapping[str, Any]
    stack_name: str
    aws: Clients

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of the named properties that the template gives, for passing them on."""
        return {name: self.properties[name] for name in names if name in self.properties}

    def generated_name(self, max_length: int = 64) -> str:
        """Return a name made of stack, logical id and a random suffix, as CloudFormation's are."""
        alphabet = string.ascii_letters + string.digits
        suffix = "".join(secrets.choice(alphabet) for _ in range(_SUFFIX_LENGTH))
        room = max_length - _SUFFIX_LENGTH - 1
        return f"{self.stack_name}-{self.logical_id}"[:room].rstrip("-") + f"-{suffix}"


class Provider(ABC):
    """One resource type. Methods raise botocore's errors or ProviderError."""

    type: ClassVar[str]
    supported: ClassVar[frozenset[str]]
    """The properties that the provider honours; any other is refused by name."""
    in_place: ClassVar[frozenset[str]] = frozenset()
    """The properties that `update` can change."""

    def check(self, definition: ResourceDefinition) -> None:
        """Raise TemplateError for a property that would otherwise be silently ignored."""
        for name in sorted(definition.properties.keys() - self.supported):
            raise TemplateError(
                f"Property {name} of {definition.type} ({definition.logical_id}) is not supported "
                f"by the embedded AWS; it knows {', '.join(sorted(self.supported))}"
            )

    @abstractmethod
    def create(self, request: ResourceRequest) -> str:
        """Create the resource and return its physical id, which is what Ref gives."""

    def complete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: B027
        """Finish what `create` began: settings with calls of their own, waiting until ready."""

    def attributes(
        self,
        request: ResourceRequest,  # noqa: ARG002
        physical_id: str,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        """Return what Fn::GetAtt gives, by attribute name."""
        return {}

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,
        previous: Mapping[str, Any],
    ) -> None:
        """Apply changes of `in_place` properties; `previous` are the properties until now."""
        raise NotImplementedError(f"{self.type} names no property in `in_place`")

    @abstractmethod
    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the resource and return once it is gone."""
