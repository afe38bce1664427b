"""Resources that one API call makes, one changes and one deletes: subclasses say which.

A usual resource type is a few declarations; only what is peculiar about it is code.
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
"""The way to a value in the answer of a call, such as ("Vpc", "VpcId") or ("FlowLogIds", 0)."""


@dataclass(frozen=True)
class Naming:
    """The property that names a resource; a resource without it gets a generated name."""

    property: str
    max_length: int = 64
    lower: bool = False


@dataclass(frozen=True)
class DescribeCall:
    """The call that describes a resource by its id, and fails if it is not there."""

    operation: str
    name: str
    steps: Steps = ()
    """The way to the description in the answer."""


class ApiResource(Provider):
    """A resource whose properties are the arguments of the call that makes it."""

    service: ClassVar[str]
    creation: ClassVar[str]
    """Names of calls, as boto3 writes them."""
    change: ClassVar[str | None] = None
    deletion: ClassVar[str]
    identity: ClassVar[str]
    """What the calls that change and delete the resource call its id."""
    deleted_by: ClassVar[str | None] = None
    """What `deletion` calls the id, if that is not `identity`."""
    answer: ClassVar[Steps] = ()
    """Where the answer of `creation` has the id; without it, the id is the argument `identity`."""
    checked_by_model: ClassVar[bool] = False
    """Whether the service's own model is asked first, for a service of moto that checks little."""

    naming: ClassVar[Naming | None] = None
    apart: ClassVar[frozenset[str]] = frozenset()
    """The properties that neither `creation` nor `change` takes."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Properties that the calls have under another name."""
    as_json: ClassVar[frozenset[str]] = frozenset()
    """Properties that the calls take as a JSON text, which templates may have as one, too."""
    tagging: ClassVar[Tagging | None] = None
    tags_at_creation: ClassVar[str | None] = "Tags"
    """What `creation` calls the tags; none if they are set afterwards."""

    described_by: ClassVar[DescribeCall | None] = None
    """How the resource is found for import, and for its `read_attributes`."""
    id_attributes: ClassVar[tuple[str, ...]] = ()
    """The attributes that are the physical id under another name."""
    given_attributes: ClassVar[tuple[str, ...]] = ()
    """The attributes that are properties."""
    read_attributes: ClassVar[Mapping[str, Steps]] = {}
    """Where the description of the resource has its other attributes."""

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the arguments of the call that makes the resource."""
        given = request.given(*sorted(self.supported - self.apart - {"Tags"}))
        if self.naming and not given.get(self.naming.property):
            name = request.generated_name(self.naming.max_length)
            given[self.naming.property] = name.lower() if self.naming.lower else name
        return {**self.written(given), **self.tag_arguments(request)}

    def tag_arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return those of the arguments that are tags."""
        tags = tags_of(request.properties)
        if not (tags and self.tagging and self.tags_at_creation):
            return {}
        return {self.tags_at_creation: self.tagging.write(tags)}

    def written(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return properties as the calls have them."""
        return {
            self.renamed.get(name, name): text(value) if name in self.as_json else value
            for name, value in properties.items()
        }

    def changes(self, request: ResourceRequest, previous: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `change` beside the id: all that can change, also as it was."""
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
        """Look the resource up; raises ClientError if it is not there."""
        if self.described_by is None:
            raise ProviderError(f"{self.type} cannot be imported in the embedded AWS")
        call = getattr(aws.service(self.service), self.described_by.operation)
        return reached(
            call(**identified(self.described_by.name, physical_id)), self.described_by.steps
        )

    def actual(self, request: ResourceRequest, physical_id: str) -> dict[str, Any] | None:
        """Return what a description has under the names of properties, or of the calls' arguments.

        The tags that AWS itself gives are left out.
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
        """Return whether the resource is there; raises ProviderError if its type has no import."""
        try:
            self.described(aws, physical_id)
        except ClientError:
            return False
        return True

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Change what can change, make the further calls again, and set the tags anew."""
        if self.change:
            changes = self.changes(request, previous)
            self.call(request, self.change, {**identified(self.identity, physical_id), **changes})
        self.complete(request, physical_id)
        self.retag(request, physical_id, previous)

    def retag(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Make the tags of the resource those of the request."""
        if self.tagging is None:
            return
        client, tagged = request.aws.service(self.service), self.tagged(request, physical_id)
        self.tagging.change(client, tagged, previous, request.properties)

    def tagged(self, request: ResourceRequest, physical_id: str) -> str:
        """Return what the calls for tags take for the resource."""
        attribute = self.tagging.by_attribute if self.tagging else None
        return str(self.attributes(request, physical_id)[attribute]) if attribute else physical_id

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the resource."""
        name = self.deleted_by or self.identity
        self.call(request, self.deletion, identified(name, physical_id))

    def call(self, request: ResourceRequest, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call the service; raises ProviderError for what its own model does not allow."""
        client = request.aws.service(self.service)
        if self.checked_by_model:
            operation = client.meta.method_to_api_mapping[name]
            require_valid(self.service, operation, arguments)
        return getattr(client, name)(**arguments)


class SharedPolicy(Provider):
    """A policy that lies on each of several resources, its holders."""

    holders: ClassVar[str]
    """The property that names them."""

    @abstractmethod
    def put(self, request: ResourceRequest, holder: str, policy: Mapping[str, Any] | None) -> None:
        """Put a policy on a holder; None for what it has without this resource."""

    def create(self, request: ResourceRequest) -> str:
        """Put the policy on every holder."""
        for holder in request.properties[self.holders]:
            self.put(request, holder, request.properties["PolicyDocument"])
        return request.generated_name()

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Put the policy anew, and take it from holders that are no longer named."""
        for holder in set(previous[self.holders]) - set(request.properties[self.holders]):
            self.put(request, holder, None)
        self.create(request)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Take the policy from its holders."""
        for holder in request.properties[self.holders]:
            self.put(request, holder, None)


def reached(value: Any, steps: Steps) -> Any:
    """Return what lies at the end of the way."""
    for step in steps:
        value = value[step]
    return value


def require_valid(service: str, operation: str, arguments: Mapping[str, Any]) -> None:
    """Raise ProviderError for what a service's own model does not allow."""
    problems = violations(service, operation, arguments)
    if problems:
        raise ProviderError(summary(problems))


def lower_camel(name: str) -> str:
    """Spell a property as some services do: `metricName`, not `MetricName`."""
    return name[0].lower() + name[1:]


def texts(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Write attributes as SNS and SQS take them: values as texts, structures as JSON."""
    return {name: text(value) for name, value in attributes.items()}


def text(value: Any) -> str:
    """Write one value as a text."""
    return value if isinstance(value, str) else json.dumps(value)
