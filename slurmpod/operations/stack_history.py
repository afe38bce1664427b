"""Resources that the stacks of an environment hold and held, deleted stacks included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from slurmpod.aws.inventory import AccountInventory, StackedResource, StackRecord

FAILED_FOR_GOOD = ("DELETE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
"""In these states CloudFormation lets one do nothing with a stack but delete it."""


@dataclass(frozen=True)
class RememberedStack:
    """One stack from its creation to its end, if that has come."""

    stack: StackRecord
    resources: Sequence[StackedResource]
    inventory: AccountInventory

    @property
    def is_over(self) -> bool:
        """Tell whether the stack is deleted, or can only be deleted."""
        return self.stack.status == "DELETE_COMPLETE" or self.must_go

    @property
    def must_go(self) -> bool:
        """Tell whether the stack stands in the way of another one of its name."""
        return self.stack.status in FAILED_FOR_GOOD

    def present(self) -> Sequence[StackedResource]:
        """Return what is not deleted: what the stack has, or let go."""
        return [
            each for each in self.resources if each.physical_id and each.status != "DELETE_COMPLETE"
        ]

    @cached_property
    def template(self) -> Mapping[str, Any]:
        """The template of the stack, read when it is first needed."""
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
    """Return all stacks of these names that CloudFormation remembers, newest first."""
    return tuple(
        RememberedStack(stack, inventory.resources(stack), inventory)
        for stack in inventory.stacks(names)
        if stack.status != "REVIEW_IN_PROGRESS"
    )


def definition_of(
    resource: StackedResource, remembered: RememberedStack, history: Sequence[RememberedStack]
) -> Mapping[str, Any]:
    """Return a resource's entry in the template of its stack, references replaced by ids.

    It can then be imported without what it refers to, and in any order.

    Raises:
        UnknownReference: It refers to something of which nobody remembers the id.
    """

    def output(stack: str, name: str) -> str:
        known = [other for other in history if other.stack.name == stack]
        # A network may be in a stack of another app, which has a name of its own.
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
"""These attributes are what Ref gives as well."""

ARNS: Final[Mapping[str, str]] = {
    "AWS::IAM::Role": "arn:{partition}:iam::{account}:role/{id}",
    "AWS::KMS::Key": "arn:{partition}:kms:{region}:{account}:key/{id}",
    "AWS::Logs::LogGroup": "arn:{partition}:logs:{region}:{account}:log-group:{id}:*",
    "AWS::S3::Bucket": "arn:{partition}:s3:::{id}",
}
"""ARNs by type (Service Authorization Reference)."""


def attribute_of(resource: StackedResource, attribute: str, stack: StackRecord) -> str:
    """Return an attribute of a resource of `stack`; or raise UnknownReference."""
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
    """A reference whose value nobody remembers; the text names it."""


class ReferenceValues(Protocol):
    """What one stack's references stood for; raises UnknownReference."""

    def ref(self, name: str) -> str:
        """Return what Ref gave."""

    def attribute(self, name: str, attribute: str) -> str:
        """Return what Fn::GetAtt gave."""


def without_references(
    value: Any, memory: ReferenceValues, output: Callable[[str, str], str]
) -> Any:
    """Return `value` with references replaced by what they stood for; other functions stay.

    `output` gives an output of another stack, by stack name and output name.

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
