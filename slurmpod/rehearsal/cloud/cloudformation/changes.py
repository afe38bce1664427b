"""What a submission would change in a stack: the content of a change set.

Resources are compared by their resolved properties, so that a resource also changes when
something that it refers to is replaced. What does not exist yet has no id: it is stood in for by
a marker, which differs from every real value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.cloudformation.dependencies import creation_order
from slurmpod.rehearsal.cloud.cloudformation.intrinsics import Resolver
from slurmpod.rehearsal.cloud.cloudformation.properties import resolve_properties
from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError
from slurmpod.rehearsal.cloud.resources.registry import provider_for
from slurmpod.rehearsal.cloud.resources.schemas import changed_properties

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slurmpod.rehearsal.cloud.cloudformation.scope import Referable, StackScope
    from slurmpod.rehearsal.cloud.cloudformation.stack import StackResource
    from slurmpod.rehearsal.cloud.cloudformation.template import ResourceDefinition, Template


@dataclass(frozen=True)
class Change:
    """One line of DescribeChangeSet."""

    action: str
    """Add, Modify or Remove."""
    logical_id: str
    type: str
    physical_id: str = ""
    properties: tuple[str, ...] = ()
    """The names of the properties that change; only when the action is Modify."""
    replacement: bool = False


@dataclass(frozen=True)
class Unborn:
    """Stands in for a resource that does not exist yet: every reference to it is a marker."""

    logical_id: str

    @property
    def physical_id(self) -> str:
        """Return a marker in place of an id."""
        return f"{{{{unborn:{self.logical_id}}}}}"

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Return markers for all attributes."""
        return _AnyAttribute(self.physical_id)


class _AnyAttribute(dict[str, Any]):
    def __init__(self, marker: str) -> None:
        super().__init__()
        self._marker = marker

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> str:
        return f"{self._marker}.{name}"


def active_resources(template: Template, scope: StackScope) -> dict[str, ResourceDefinition]:
    """Return the resources whose conditions hold, in the order of their creation."""
    active = {
        name: definition
        for name, definition in template.resources.items()
        if definition.condition is None or scope.condition(definition.condition)
    }
    return {name: active[name] for name in creation_order(active)}


def check_supported(definitions: Iterable[ResourceDefinition]) -> None:
    """Raise one TemplateError that names every unsupported type and property."""
    problems = []
    for definition in definitions:
        try:
            provider_for(definition.logical_id, definition.type).check(definition)
        except TemplateError as error:
            problems.append(str(error))
    if problems:
        raise TemplateError("\n".join(problems))


def plan_changes(
    existing: Mapping[str, StackResource],
    template: Template,
    stack_tags: Mapping[str, str],
    scope: StackScope,
) -> tuple[Change, ...]:
    """Return the changes that make `existing` what the template asks for.

    `scope` is used with resources of its own: those that stay, and stand-ins for new ones.
    Raises TemplateError for what the embedded AWS cannot do, naming the resource.
    """
    known: dict[str, Referable] = dict(existing)
    scope.resources = known
    resolver = Resolver(scope)
    active = active_resources(template, scope)
    check_supported(active.values())
    changes = []
    for name, definition in active.items():
        properties = resolve_properties(definition, resolver, stack_tags)
        change = _change(definition, existing.get(name), properties)
        if change is not None:
            changes.append(change)
            if change.action == "Add" or change.replacement:
                known[name] = Unborn(name)
    return (*changes, *_removals(existing, active))


def update_problem(
    definition: ResourceDefinition, old: Mapping[str, Any], new: Mapping[str, Any]
) -> str | None:
    """Say why a resource cannot get its new properties without being replaced, if it cannot."""
    provider = provider_for(definition.logical_id, definition.type)
    fixed = provider.fixed(old, new)
    if not fixed:
        return None
    return (
        f"{', '.join(fixed)} of {definition.type} ({definition.logical_id}) cannot be changed in "
        f"the embedded AWS; what can: {', '.join(sorted(provider.in_place)) or 'nothing'}"
    )


def _change(
    definition: ResourceDefinition, resource: StackResource | None, properties: Mapping[str, Any]
) -> Change | None:
    if resource is None:
        return Change("Add", definition.logical_id, definition.type)
    if resource.type != definition.type:
        raise TemplateError(
            f"Update of resource type is not permitted. The new template modifies resource type "
            f"of the following resources: [{definition.logical_id}]"
        )
    changed = changed_properties(resource.properties, properties)
    if not changed:
        return None
    provider = provider_for(definition.logical_id, definition.type)
    replacement = provider.replaces(resource.properties, properties)
    problem = None if replacement else update_problem(definition, resource.properties, properties)
    if problem:
        raise TemplateError(problem)
    return Change(
        action="Modify",
        logical_id=definition.logical_id,
        type=definition.type,
        physical_id=resource.physical_id,
        properties=changed,
        replacement=replacement,
    )


def _removals(
    existing: Mapping[str, StackResource], active: Mapping[str, ResourceDefinition]
) -> Iterator[Change]:
    for name, resource in existing.items():
        if name not in active:
            yield Change("Remove", name, resource.type, resource.physical_id)
