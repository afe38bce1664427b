"""Retained resources of earlier deployments of an environment, which are in no stack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Protocol

from slurmpod.aws.inventory import AccountInventory, HeldFileSystem, StackedResource, StackRecord
from slurmpod.resolve.environment import ENVIRONMENT_TAG
from slurmpod.resolve.stacks import all_stack_names

FAILED_FOR_GOOD = ("DELETE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
"""In these states CloudFormation can only delete a stack."""


@dataclass(frozen=True)
class RememberedStack:
    """One stack from its creation to its deletion, if it is deleted."""

    stack: StackRecord
    resources: Sequence[StackedResource]
    inventory: AccountInventory

    @property
    def is_over(self) -> bool:
        """Return whether the stack is deleted, or can only be deleted."""
        return self.stack.status == "DELETE_COMPLETE" or self.must_go

    @property
    def must_go(self) -> bool:
        """Return whether the stack blocks a new one with its name."""
        return self.stack.status in FAILED_FOR_GOOD

    def present(self) -> Sequence[StackedResource]:
        """Return resources that are not deleted: those in the stack, and those that it let go."""
        return [
            each for each in self.resources if each.physical_id and each.status != "DELETE_COMPLETE"
        ]

    @cached_property
    def template(self) -> Mapping[str, Any]:
        """The template of the stack, read on first use."""
        return self.inventory.template(self.stack)

    def ref(self, name: str) -> str:
        """Return the physical id of a resource; raises UnknownReference."""
        return self._resource(name).physical_id

    def attribute(self, name: str, attribute: str) -> str:
        """Return an attribute of a resource; raises UnknownReference."""
        return attribute_of(self._resource(name), attribute, self.stack)

    def _resource(self, name: str) -> StackedResource:
        for each in self.resources:
            if each.logical_id == name and each.physical_id:
                return each
        raise UnknownReference(name)


def remembered_stacks(
    inventory: AccountInventory, names: Sequence[str]
) -> tuple[RememberedStack, ...]:
    """Return all stacks with these names that CloudFormation still lists, newest first."""
    return tuple(
        RememberedStack(stack, inventory.resources(stack), inventory)
        for stack in inventory.stacks(names)
        if stack.status != "REVIEW_IN_PROGRESS"
    )


def definition_of(
    resource: StackedResource, remembered: RememberedStack, history: Sequence[RememberedStack]
) -> Mapping[str, Any]:
    """Return a resource's entry in the template of its stack, references replaced by ids.

    It can then be imported without the resources that it refers to, and in any order.

    Raises:
        UnknownReference: It refers to something whose id is lost.
    """

    def output(stack: str, name: str) -> str:
        known = [other for other in history if other.stack.name == stack]
        # A network may be in another app's stack, which has a different name.
        for other in known or remembered_stacks(remembered.inventory, [stack]):
            outputs = other.template.get("Outputs", {})
            if name in outputs:
                return str(without_references(outputs[name]["Value"], other, output))
        raise UnknownReference(f"{stack}.{name}")

    entry = remembered.template["Resources"].get(resource.logical_id)
    if entry is None:
        raise UnknownReference(resource.logical_id)
    kept = {key: entry[key] for key in ("Type", "UpdateReplacePolicy") if key in entry}
    return {
        **kept,
        "DeletionPolicy": entry.get("DeletionPolicy", "Retain"),
        "Properties": without_references(entry.get("Properties", {}), remembered, output),
    }


SAME_AS_REF = frozenset({"GroupId", "Id", "KeyId", "SubnetId", "VpcId"})
"""Attributes with the same value as Ref."""

ARNS: Final[Mapping[str, str]] = {
    "AWS::IAM::Role": "arn:{partition}:iam::{account}:role/{id}",
    "AWS::KMS::Key": "arn:{partition}:kms:{region}:{account}:key/{id}",
    "AWS::Logs::LogGroup": "arn:{partition}:logs:{region}:{account}:log-group:{id}:*",
    "AWS::S3::Bucket": "arn:{partition}:s3:::{id}",
}
"""ARNs by type (Service Authorization Reference)."""


def attribute_of(resource: StackedResource, attribute: str, stack: StackRecord) -> str:
    """Return an attribute of a resource of `stack`; raises UnknownReference."""
    if attribute in SAME_AS_REF:
        return resource.physical_id
    if attribute.endswith("Arn") and resource.physical_id.startswith("arn:"):
        return resource.physical_id
    if attribute == "Arn" and resource.type in ARNS:
        _, partition, _, region, account, *_ = stack.arn.split(":")
        return ARNS[resource.type].format(
            partition=partition, region=region, account=account, id=resource.physical_id
        )
    raise UnknownReference(f"{resource.logical_id}.{attribute}")


class UnknownReference(Exception):
    """A reference whose value is lost; the text names it."""


class ReferenceValues(Protocol):
    """The values of one stack's references; raises UnknownReference."""

    def ref(self, name: str) -> str:
        """Return the value of Ref."""

    def attribute(self, name: str, attribute: str) -> str:
        """Return the value of Fn::GetAtt."""


def without_references(
    value: Any, memory: ReferenceValues, output: Callable[[str, str], str]
) -> Any:
    """Return `value` with references replaced by their values; other functions stay.

    `output` returns an output of another stack, by stack name and output name.

    Raises:
        UnknownReference: A reference cannot be replaced.
    """
    if isinstance(value, list):
        return [without_references(item, memory, output) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((function, argument),) = value.items()
        if function == "Ref" and not argument.startswith("AWS::"):
            return memory.ref(argument)
        if function == "Fn::GetAtt":
            parts = argument.split(".", 1) if isinstance(argument, str) else argument
            return memory.attribute(*parts)
        if function == "Fn::GetStackOutput":
            return output(argument["StackName"], argument["OutputName"])
    return {key: without_references(item, memory, output) for key, item in value.items()}


FILE_SYSTEM = "AWS::FSx::FileSystem"


@dataclass(frozen=True)
class Leftover:
    """A resource that outlived its stack; `definition` is its template entry.

    `identifier` names it for an import. `problem` is why it cannot be adopted, if it cannot.
    """

    stack: StackRecord
    resource: StackedResource
    definition: Mapping[str, Any]
    identifier: Mapping[str, str]
    problem: str = ""


@dataclass(frozen=True)
class Leftovers:
    """All retained resources.

    `failed` are stacks to delete before their names can be used again; `vpc_ids` are the
    VPCs of the environment's stacks, including retained ones.
    """

    resources: tuple[Leftover, ...]
    file_systems: tuple[HeldFileSystem, ...]
    failed: tuple[StackRecord, ...]
    vpc_ids: frozenset[str]


def find_leftovers(inventory: AccountInventory, former: str, environment: str) -> Leftovers:
    """Return the resources of `former` that are in no stack of it or of `environment`.

    Raises:
        AwsUnavailable: AWS does not answer.
    """
    history = remembered_stacks(
        inventory, sorted({*all_stack_names(former), *all_stack_names(environment)})
    )
    owned = {r.physical_id for each in history if not each.is_over for r in each.present()}
    live = {each.stack.name for each in history if not each.is_over}
    return Leftovers(
        resources=tuple(_left(inventory, history, owned, _takers(former, environment, live))),
        file_systems=tuple(
            each
            for each in inventory.file_systems()
            if each.tags.get(ENVIRONMENT_TAG) == former and each.file_system_id not in owned
        ),
        failed=tuple(each.stack for each in history if each.must_go),
        vpc_ids=frozenset(
            resource.physical_id
            for each in history
            for resource in each.present()
            if resource.type == "AWS::EC2::VPC"
        ),
    )


def _takers(former: str, environment: str, live: Collection[str]) -> Mapping[str, str]:
    """Return, by former name, the stacks that can import: those that do not exist."""
    pairs = zip(all_stack_names(former), all_stack_names(environment), strict=True)
    return {old: new for old, new in pairs if new not in live}


def _left(
    inventory: AccountInventory,
    history: Sequence[RememberedStack],
    owned: Collection[str],
    takers: Mapping[str, str],
) -> Iterator[Leftover]:
    """Yield every resource once; of several for one place, the newest is adopted."""
    over = [remembered for remembered in history if remembered.is_over]
    types = {each.type for remembered in over for each in remembered.present()}
    identifiers = inventory.identifiers(types) if types else {}
    seen, taken = set(owned), set[tuple[str, str]]()
    for remembered in over:
        for resource in remembered.present():
            names = identifiers.get(resource.type, ())
            if resource.type == FILE_SYSTEM or resource.physical_id in seen:
                continue
            seen.add(resource.physical_id)
            if names:
                found = _leftover(resource, remembered, history, names)
                if not _is_there(inventory, found, names):
                    continue
                place = (remembered.stack.name, resource.logical_id)
                yield _placed(found, place, takers, taken)
            elif resource.status == "DELETE_SKIPPED":
                problem = f"CloudFormation cannot import {resource.type}"
                yield Leftover(remembered.stack, resource, {}, {}, problem)


def _leftover(
    resource: StackedResource,
    remembered: RememberedStack,
    history: Sequence[RememberedStack],
    names: Sequence[str],
) -> Leftover:
    try:
        definition = definition_of(resource, remembered, history)
    except UnknownReference as unknown:
        problem = f"it refers to {unknown}, whose id is lost"
        return Leftover(remembered.stack, resource, {}, {names[0]: resource.physical_id}, problem)
    properties = definition["Properties"]
    others = {name: str(properties[name]) for name in names[1:] if name in properties}
    identifier = {names[0]: resource.physical_id.split("|")[0], **others}
    problem = "" if len(identifier) == len(names) else "its identifier is not known"
    return Leftover(remembered.stack, resource, definition, identifier, problem)


def _is_there(inventory: AccountInventory, found: Leftover, names: Sequence[str]) -> bool:
    known = [found.identifier[name] for name in names if name in found.identifier]
    return inventory.is_there(found.resource.type, "|".join(known))


def _placed(
    found: Leftover,
    place: tuple[str, str],
    takers: Mapping[str, str],
    taken: set[tuple[str, str]],
) -> Leftover:
    """Return the resource with a problem if its place is taken; otherwise take the place."""
    if found.problem:
        return found
    stack, _ = place
    if stack not in takers:
        return replace(found, problem="its stack was created again without it")
    if place in taken:
        return replace(found, problem="a newer one takes its place")
    taken.add(place)
    return found
