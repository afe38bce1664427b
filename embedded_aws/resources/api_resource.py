"""Resources created, changed and deleted by one API call each, which subclasses declare.

A typical resource type is a few declarations; only its peculiarities are code.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.errors import summary, violations
from embedded_aws.resources.provider import Provider, ProviderError, ResourceRequest
from embedded_aws.resources.tags import Tagging, identified, tags_of

Steps = tuple[str | int, ...]
"""The path to a value in a response, such as ("Vpc", "VpcId") or ("FlowLogIds", 0)."""


@dataclass(frozen=True)
class Naming:
    """The property that names a resource; a resource without it gets a generated name."""

    property: str
    max_length: int = 64
    lower: bool = False


@dataclass(frozen=True)
class DescribeCall:
    """The call that describes a resource by its id, and fails if it does not exist."""

    operation: str
    name: str
    steps: Steps = ()
    """The path to the description in the response."""


class ApiResource(Provider):
    """A resource whose properties are the arguments of the call that creates it."""

    service: ClassVar[str]
    creation: ClassVar[str]
    """Names of calls, as spelled in boto3."""
    change: ClassVar[str | None] = None
    deletion: ClassVar[str]
    identity: ClassVar[str]
    """The argument for the id in calls that change and delete the resource."""
    deleted_by: ClassVar[str | None] = None
    """The argument for the id in `deletion`, if not `identity`."""
    answer: ClassVar[Steps] = ()
    """The path to the id in the response of `creation`; without it, the argument `identity`."""
    checked_by_model: ClassVar[bool] = False
    """Whether arguments are checked against the API model first, as moto checks little."""

    naming: ClassVar[Naming | None] = None
    apart: ClassVar[frozenset[str]] = frozenset()
    """Properties that neither `creation` nor `change` accepts."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Properties that have another name in the calls."""
    as_json: ClassVar[frozenset[str]] = frozenset()
    """Properties that the calls take as JSON text; templates may also have them as text."""
    tagging: ClassVar[Tagging | None] = None
    tags_at_creation: ClassVar[str | None] = "Tags"
    """The argument for tags in `creation`; empty if they are set afterwards."""

    described_by: ClassVar[DescribeCall | None] = None
    """The call that looks the resource up for import and `read_attributes`."""
    id_attributes: ClassVar[tuple[str, ...]] = ()
    """Attributes that equal the physical id."""
    given_attributes: ClassVar[tuple[str, ...]] = ()
    """Attributes that are properties."""
    read_attributes: ClassVar[Mapping[str, Steps]] = {}
    """Paths to other attributes in the resource's description."""

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the arguments of the call that creates the resource."""
        given = request.given(*sorted(self.supported - self.apart - {"Tags"}))
        if self.naming and not given.get(self.naming.property):
            name = request.generated_name(self.naming.max_length)
            given[self.naming.property] = name.lower() if self.naming.lower else name
        return {**self.written(given), **self.tag_arguments(request)}

    def tag_arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the arguments for tags."""
        tags = tags_of(request.properties)
        if not (tags and self.tagging and self.tags_at_creation):
            return {}
        return {self.tags_at_creation: self.tagging.write(tags)}

    def written(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return properties in the form that the calls take."""
        return {
            self.renamed.get(name, name): text(value) if name in self.as_json else value
            for name, value in properties.items()
        }

    def changes(self, request: ResourceRequest, previous: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `change` besides the id: all changeable properties."""
        return self.written(request.given(*sorted(self.in_place - self.apart - {"Tags"})))

    def create(self, request: ResourceRequest) -> str:
        """Make the resource."""
        arguments = self.arguments(request)
        answer = self.call(request, self.creation, arguments)
        return str(reached(answer, self.answer) if self.answer else arguments[self.identity])

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return the declared attributes."""
        found = self.described(request.aws, physical_id) if self.read_attributes else {}
        return {
            **dict.fromkeys(self.id_attributes, physical_id),
            **request.given(*self.given_attributes),
            **{name: reached(found, steps) for name, steps in self.read_attributes.items()},
        }

    def described(self, aws: Clients, physical_id: str) -> Any:
        """Look the resource up; raises ClientError if it does not exist."""
        if self.described_by is None:
            raise ProviderError(f"{self.type} cannot be imported in the embedded AWS")
        call = getattr(aws.service(self.service), self.described_by.operation)
        return reached(
            call(**identified(self.described_by.name, physical_id)), self.described_by.steps
        )

    def actual(self, request: ResourceRequest, physical_id: str) -> dict[str, Any] | None:
        """Return the parts of the description named like properties or arguments of the calls.

        Tags that AWS itself sets are left out.
        """
        if self.described_by is None:
            return None
        found = self.described(request.aws, physical_id)
        names = {name: self.renamed.get(name, name) for name in request.properties}
        actual = {name: found[key] for name, key in names.items() if key in found}
        if isinstance(actual.get("Tags"), list):
            actual["Tags"] = [tag for tag in actual["Tags"] if not tag["Key"].startswith("aws:")]
        return actual

    def exists(self, aws: Clients, physical_id: str) -> bool:
        """Return whether the resource exists; raises ProviderError if its type has no import."""
        try:
            self.described(aws, physical_id)
        except ClientError:
            return False
        return True

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change the resource, repeat the further calls, and update the tags."""
        if self.change:
            changes = self.changes(request, previous)
            self.call(request, self.change, {**identified(self.identity, physical_id), **changes})
        self.complete(request, physical_id)
        self.retag(request, physical_id, previous)

    def retag(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Set the tags of the resource to those of the request."""
        if self.tagging is None:
            return
        client, tagged = request.aws.service(self.service), self.tagged(request, physical_id)
        self.tagging.change(client, tagged, previous, request.properties)

    def tagged(self, request: ResourceRequest, physical_id: str) -> str:
        """Return the resource's identifier in the calls for tags."""
        attribute = self.tagging.by_attribute if self.tagging else None
        return str(self.attributes(request, physical_id)[attribute]) if attribute else physical_id

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the resource."""
        name = self.deleted_by or self.identity
        self.call(request, self.deletion, identified(name, physical_id))

    def call(self, request: ResourceRequest, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call the service; raises ProviderError for arguments that its model does not allow."""
        client = request.aws.service(self.service)
        if self.checked_by_model:
            operation = client.meta.method_to_api_mapping[name]
            require_valid(self.service, operation, arguments)
        return getattr(client, name)(**arguments)


class SharedPolicy(Provider):
    """A policy that is attached to several resources, its holders."""

    holders: ClassVar[str]
    """The property that lists the holders."""

    @abstractmethod
    def put(self, request: ResourceRequest, holder: str, policy: Mapping[str, Any] | None) -> None:
        """Put a policy on a holder; None restores the holder's default."""

    def create(self, request: ResourceRequest) -> str:
        """Put the policy on every holder."""
        for holder in request.properties[self.holders]:
            self.put(request, holder, request.properties["PolicyDocument"])
        return request.generated_name()

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Put the policy again, and remove it from holders that are no longer listed."""
        for holder in set(previous[self.holders]) - set(request.properties[self.holders]):
            self.put(request, holder, None)
        self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Remove the policy from its holders."""
        for holder in request.properties[self.holders]:
            self.put(request, holder, None)


def reached(value: Any, steps: Steps) -> Any:
    """Return the value at the end of the path."""
    for step in steps:
        value = value[step]
    return value


def require_valid(service: str, operation: str, arguments: Mapping[str, Any]) -> None:
    """Raise ProviderError for arguments that the service's model does not allow."""
    problems = violations(service, operation, arguments)
    if problems:
        raise ProviderError(summary(problems))


def lower_camel(name: str) -> str:
    """Spell a property as some services do: `metricName`, not `MetricName`."""
    return name[0].lower() + name[1:]


def texts(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return attributes in the form of SNS and SQS: values as text, structures as JSON."""
    return {name: text(value) for name, value in attributes.items()}


def text(value: Any) -> str:
    """Return one value as text."""
    return value if isinstance(value, str) else json.dumps(value)
