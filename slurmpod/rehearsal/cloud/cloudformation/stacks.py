"""All stacks of the account, and what they can see of each other."""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.cloudformation.stack import Stack
from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError
from slurmpod.rehearsal.cloud.errors import ServiceError, validation_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmpod.rehearsal.cloud.clients import Clients


class Stacks:
    """The stacks of every region, deleted ones included: those are found by ARN only."""

    def __init__(self) -> None:
        self._by_region: dict[str, list[Stack]] = defaultdict(list)

    def add(self, name: str, aws: Clients) -> Stack:
        """Enter a new stack in review; raises AlreadyExistsException."""
        if any(stack.name == name for stack in self.active(aws.region)):
            raise ServiceError("AlreadyExistsException", f"Stack [{name}] already exists")
        prefix = f"arn:{aws.partition}:cloudformation:{aws.region}:{aws.account}:stack"
        stack = Stack(arn=f"{prefix}/{name}/{uuid.uuid4()}", name=name, region=aws.region)
        self._by_region[aws.region].append(stack)
        return stack

    def drop(self, stack: Stack) -> None:
        """Forget a stack that never had a resource."""
        self._by_region[stack.region].remove(stack)

    def everything(self, region: str) -> list[Stack]:
        """Return all stacks of a region, newest first, deleted ones included."""
        return self._by_region[region][::-1]

    def active(self, region: str) -> list[Stack]:
        """Return the stacks of a region that are not deleted, newest first."""
        return [s for s in self.everything(region) if s.status != "DELETE_COMPLETE"]

    def find(self, region: str, name_or_arn: str) -> Stack:
        """Return a stack by name, or by ARN also after its deletion; raises ValidationError."""
        for stack in self.active(region):
            if stack.name == name_or_arn:
                return stack
        for stack in self.everything(region):
            if stack.arn == name_or_arn:
                return stack
        raise validation_error(f"Stack with id {name_or_arn} does not exist")

    def owner(self, region: str, resource_type: str, physical_id: str) -> Stack | None:
        """Return the stack that a resource belongs to, if it belongs to any."""
        for stack in self.active(region):
            for resource in stack.resources.values():
                if (resource.type, resource.physical_id) == (resource_type, physical_id):
                    return stack
        return None

    def importers(self, stack: Stack) -> list[tuple[str, str]]:
        """Return (export, importing stack) for every export of `stack` that is in use."""
        return [
            (name, other.name)
            for other in self.active(stack.region)
            for name in sorted(other.imports & stack.exports.keys())
        ]


class Neighbourhood:
    """What one stack sees of the others; remembers what it imported."""

    def __init__(self, stacks: Stacks, region: str, zones: Callable[[str], list[str]]) -> None:
        self.imported: set[str] = set()
        self._stacks = stacks
        self._region = region
        self._zones = zones

    def exported(self, name: str) -> str:
        """Return the value that a stack of the region exports as `name`."""
        self.imported.add(name)
        for stack in self._stacks.active(self._region):
            if name in stack.exports:
                return stack.exports[name]
        raise TemplateError(f"No export named {name} found. Deploy the stack that exports it first")

    def stack_output(self, stack_name: str, region: str, output: str) -> str:
        """Return an output of another stack of the account."""
        for stack in self._stacks.active(region):
            if stack_name in (stack.name, stack.arn) and output in stack.outputs:
                return stack.outputs[output]
        raise TemplateError(
            f"Stack {stack_name} in {region} has no output {output}. Deploy it first"
        )

    def zones(self, region: str) -> list[str]:
        """Return the names of a region's availability zones."""
        return self._zones(region)
