"""The stacks of an environment, one after the other: those that are there, and those that were."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slurmpod.operations.attributes import attribute_of
from slurmpod.operations.literal import Unknown, literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmpod.aws.holdings import Holdings, StackedResource, StackRecord

FAILED_FOR_GOOD = ("DELETE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
"""In these states CloudFormation lets one do nothing with a stack but delete it."""


@dataclass(frozen=True)
class Chapter:
    """One stack from its creation to its end, if that has come."""

    stack: StackRecord
    resources: Sequence[StackedResource]
    holdings: Holdings

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
        return self.holdings.template(self.stack)

    def ref(self, name: str) -> str:
        """Return the physical id of a resource; raises Unknown."""
        return self._resource(name).physical_id

    def attribute(self, name: str, attribute: str) -> str:
        """Return an attribute of a resource; raises Unknown."""
        return attribute_of(self._resource(name), attribute, self.stack)

    def _resource(self, name: str) -> StackedResource:
        for each in self.resources:
            if each.logical_id == name and each.physical_id:
                return each
        raise Unknown(name)


def chapters(holdings: Holdings, names: Sequence[str]) -> tuple[Chapter, ...]:
    """Return every chapter of the stacks of these names, newest first."""
    return tuple(
        Chapter(stack, holdings.resources(stack), holdings)
        for stack in holdings.stacks(names)
        if stack.status != "REVIEW_IN_PROGRESS"
    )


def definition_of(
    resource: StackedResource, chapter: Chapter, history: Sequence[Chapter]
) -> Mapping[str, Any]:
    """Return a resource's entry in the template of its stack, references replaced by ids.

    It can then be imported without what it refers to, and in any order.

    Raises:
        Unknown: It refers to something of which nobody remembers the id.
    """

    def output(stack: str, name: str) -> str:
        for other in history:
            outputs = other.template.get("Outputs", {}) if other.stack.name == stack else {}
            if name in outputs:
                return str(literal(outputs[name]["Value"], other, output))
        raise Unknown(f"{stack}.{name}")

    entry = chapter.template["Resources"].get(resource.logical_id)
    if entry is None:
        raise Unknown(resource.logical_id)
    kept = {key: entry[key] for key in ("Type", "UpdateReplacePolicy") if key in entry}
    return {
        **kept,
        "DeletionPolicy": entry.get("DeletionPolicy", "Retain"),
        "Properties": literal(entry.get("Properties", {}), chapter, output),
    }
