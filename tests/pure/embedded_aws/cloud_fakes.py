"""A CloudFormation without services: one resource type whose resources are kept in a dictionary."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from embedded_aws.cloudformation.engine import CloudFormation
from embedded_aws.cloudformation.stack import (
    STANDARD_DELETION,
    ChangeSetRequest,
    DeletionRequest,
    ResourceToImport,
    Stack,
    Submission,
)
from embedded_aws.resources import registry, schemas
from embedded_aws.resources.provider import Provider, ProviderError, ResourceRequest
from embedded_aws.resources.registry import PROVIDERS
from embedded_aws.templates.template import parse_template

if TYPE_CHECKING:
    import pytest

REGION = "us-west-2"
THING = "Test::Thing"


class Things(Provider):
    """Things have a name that cannot change and a size that can; size "bad" is refused."""

    type = THING
    supported = frozenset({"Name", "Needs", "Size", "Tags"})
    in_place = frozenset({"Needs", "Size", "Tags"})

    def __init__(self) -> None:
        self.existing: dict[str, Mapping[str, Any]] = {}
        self.calls: list[str] = []
        self.undeletable: set[str] = set()
        self.may_complete = threading.Event()
        self.may_complete.set()
        self._made = 0

    def create(self, request: ResourceRequest) -> str:
        if request.properties.get("Size") == "impossible":
            raise ProviderError("no such size")
        self._made += 1
        physical_id = f"thing-{self._made}"
        self.existing[physical_id] = request.properties
        self.calls.append(f"create {request.logical_id}")
        return physical_id

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        self.may_complete.wait()
        if request.properties.get("Size") == "bad":
            raise ProviderError("it fell over")

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        return {"Size": request.properties.get("Size", "")}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        if request.properties.get("Size") == "bad":
            raise ProviderError("it fell over")
        self.existing[physical_id] = request.properties
        self.calls.append(f"update {request.logical_id}")

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        if request.logical_id in self.undeletable:
            raise ProviderError("something is still in it")
        del self.existing[physical_id]
        self.calls.append(f"delete {request.logical_id}")


class NoClients:
    """Identity of an account and region without any service."""

    account = "111122223333"
    region = REGION
    partition = "aws"
    dns_suffix = "amazonaws.com"

    def arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"


class Lab:
    """An engine over things, with the shortest way to deploy to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.things = Things()
        monkeypatch.setitem(PROVIDERS, THING, self.things)
        monkeypatch.setattr(schemas, "create_only_paths", lambda _type: (("Name",),))
        monkeypatch.setattr(
            schemas, "import_identifiers", lambda kind: ("Name",) if kind == THING else ()
        )
        monkeypatch.setattr(
            registry, "is_there", lambda _aws, _type, id_: id_ in self.things.existing
        )
        self.engine = CloudFormation(lambda _region: NoClients())  # type: ignore[arg-type,return-value]

    def deploy(self, name: str = "s", *, outputs: object = None, **resources: Any) -> Stack:
        """Create or update a stack through a change set, and wait for its end."""
        self.change_set(name, outputs=outputs, **resources)
        self.engine.execute_change_set(REGION, name, "c").join()
        return self.engine.stacks.find(REGION, name)

    def change_set(
        self,
        name: str = "s",
        *,
        outputs: object = None,
        tags: Mapping[str, str] | None = None,
        imports: Mapping[str, str] | None = None,
        imports_existing: bool = False,
        **resources: object,
    ) -> Any:
        """Return a change set of these resources, of type IMPORT if it has `imports`."""
        exists = any(s.name == name for s in self.engine.stacks.active(REGION))
        document = {"Resources": resources, "Outputs": outputs or {}}
        request = ChangeSetRequest(
            stack_name=name,
            name="c",
            kind="IMPORT" if imports else "UPDATE" if exists else "CREATE",
            description="",
            submission=Submission(parse_template(json.dumps(document)), {}, tags or {}),
            to_import=tuple(
                ResourceToImport(logical_id, THING, {"Name": physical_id})
                for logical_id, physical_id in (imports or {}).items()
            ),
            imports_existing=imports_existing,
        )
        return self.engine.create_change_set(REGION, request)[1]

    def take_in(self, name: str = "s", *, imports: Mapping[str, str], **resources: Any) -> Stack:
        """Import what is there already, and wait for the end."""
        self.change_set(name, imports=imports, **resources)
        self.engine.execute_change_set(REGION, name, "c").join()
        return self.engine.stacks.find(REGION, name)

    def delete(self, name: str = "s", request: DeletionRequest = STANDARD_DELETION) -> None:
        """Delete a stack and wait for its end."""
        self.engine.delete_stack(REGION, name, request).join()


def thing(*, keep: str = "Delete", **properties: object) -> dict[str, object]:
    """Return a thing's definition for a template."""
    return {
        "Type": THING,
        "Properties": properties,
        "DeletionPolicy": keep,
        "UpdateReplacePolicy": "Delete" if keep == "Delete" else "Retain",
    }


def statuses(stack: Stack, logical_id: str) -> list[str]:
    """Return the statuses that a resource went through, in-progress repetitions left out."""
    seen = [event.status for event in stack.events if event.logical_id == logical_id]
    return [status for i, status in enumerate(seen) if i == 0 or status != seen[i - 1]]
