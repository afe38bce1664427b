"""The interface between CloudFormation and a resource type."""

from __future__ import annotations

import string
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from embedded_aws.clients import Clients
from embedded_aws.ids import ids
from embedded_aws.resources import schemas
from embedded_aws.templates.template import ResourceDefinition, TemplateError

_SUFFIX_LENGTH = 12


class ProviderError(Exception):
    """A resource could not be created, updated or deleted; the text is shown to the user."""


@dataclass(frozen=True)
class ResourceRequest:
    """A resource to provision: its resolved template properties and its stack."""

    logical_id: str
    type: str
    properties: Mapping[str, Any]
    stack_name: str
    aws: Clients
    stack_id: str = ""
    """The ARN of the stack, which is passed to custom resources."""

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of the named properties that the template sets, to pass them on."""
        return {name: self.properties[name] for name in names if name in self.properties}

    def generated_name(self, max_length: int = 64) -> str:
        """Return a name made of stack, logical id and a random suffix, as CloudFormation's are."""
        alphabet = string.ascii_letters + string.digits
        suffix = ids.text(f"{self.stack_name} {self.logical_id}", _SUFFIX_LENGTH, alphabet)
        room = max_length - _SUFFIX_LENGTH - 1
        return f"{self.stack_name}-{self.logical_id}"[:room].rstrip("-") + f"-{suffix}"


class Provider(ABC):
    """One resource type. Methods raise botocore's errors or ProviderError."""

    type: ClassVar[str]
    supported: ClassVar[frozenset[str]]
    """Supported properties; any other is refused by name."""
    in_place: ClassVar[frozenset[str]] = frozenset()
    """Properties that `update` can change."""
    maps_tags: ClassVar[bool] = False
    """Whether the type's tags are a mapping instead of a list of keys and values."""
    is_always_updated: ClassVar[bool] = False
    """Whether it may need an update although none of its properties changes."""
    replaced_by: ClassVar[tuple[schemas.Path, ...]] = ()
    """Properties whose change replaces the resource, besides those in the schema."""

    def check(self, definition: ResourceDefinition) -> None:
        """Raise one TemplateError for all properties that AWS refuses or this would ignore."""
        where = f"{definition.type} ({definition.logical_id})"
        problems = [
            *self._unsupported(where, definition.properties),
            *(
                f"Properties validation failed for {where} with message: {problem}"
                for problem in schemas.extraneous_keys(definition.type, definition.properties)
            ),
        ]
        if problems:
            raise TemplateError("\n".join(problems))

    def _unsupported(self, where: str, properties: Mapping[str, Any]) -> Iterator[str]:
        """Yield a message that lists properties of AWS that are not supported here."""
        existing = schemas.property_names(self.type)
        names = sorted(
            name for name in properties.keys() - self.supported if name in (existing or [name])
        )
        if not names:
            return
        asked = [
            name if existing else name + schemas.did_you_mean(name, self.supported)
            for name in names
        ]
        noun, verb = ("Property", "is") if len(names) == 1 else ("Properties", "are")
        yield (
            f"{noun} {', '.join(asked)} of {where} {verb} not supported by the embedded AWS; "
            f"it knows {', '.join(sorted(self.supported))}"
        )

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Return whether AWS replaces the resource for this change instead of updating it."""
        paths = (*schemas.create_only_paths(self.type), *self.replaced_by)
        return schemas.differs_at(old, new, paths)

    def fixed(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
        """Return the names of changed properties that `update` cannot change."""
        return sorted(set(schemas.changed_properties(old, new)) - self.in_place)

    @abstractmethod
    def create(self, request: ResourceRequest) -> str:
        """Create the resource and return its physical id, which is what Ref gives."""

    def complete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: B027
        """Complete the creation: make further calls, and wait until ready."""

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the values of Fn::GetAtt, by attribute name."""
        return {}

    def actual(self, request: ResourceRequest, physical_id: str) -> dict[str, Any] | None:
        """Return the current properties of the resource, as far as they can be read.

        None if nothing of the type can be read; raises ClientError if the resource is gone.
        """
        return None

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Apply changes of `in_place` properties; `previous` are the old properties."""
        raise NotImplementedError(f"{self.type} names no property in `in_place`")

    def id_after_update(self, request: ResourceRequest, physical_id: str) -> str:
        """Return the physical id after `update`, which differs if that created a new resource."""
        return physical_id

    @abstractmethod
    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the resource and return once it is gone."""

    def delete_with_snapshot(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the resource after taking a snapshot of its data."""
        raise ProviderError(f"DeletionPolicy Snapshot is not supported for {self.type}")
