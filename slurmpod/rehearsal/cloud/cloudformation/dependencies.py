"""In which order the resources of a template can be created: every reference points backwards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slurmpod.rehearsal.cloud.cloudformation.template import ResourceDefinition

_PLACEHOLDER = re.compile(r"\$\{([^!{}.]+)[^{}]*\}")


def creation_order(resources: Mapping[str, ResourceDefinition]) -> list[str]:
    """Return the logical ids, dependencies first, otherwise as in the template.

    Raises TemplateError for a circle of references.
    """
    order: list[str] = []
    path: list[str] = []

    def visit(logical_id: str) -> None:
        if logical_id in order:
            return
        if logical_id in path:
            circle = ", ".join(path[path.index(logical_id) :])
            raise TemplateError(f"Circular dependency between resources: [{circle}]")
        path.append(logical_id)
        for dependency in sorted(dependencies(resources[logical_id]) & resources.keys()):
            visit(dependency)
        path.pop()
        order.append(logical_id)

    for logical_id in resources:
        visit(logical_id)
    return order


def dependencies(definition: ResourceDefinition) -> set[str]:
    """Return every name that the resource refers to: resources, parameters and mappings."""
    return {*definition.depends_on, *_references(definition.properties)} - {definition.logical_id}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _called_names(key, item)
            yield from _references(item)


def _called_names(key: str, argument: Any) -> Iterator[str]:
    if key == "Ref" and isinstance(argument, str):
        yield argument
    elif key == "Fn::GetAtt":
        yield argument.split(".")[0] if isinstance(argument, str) else argument[0]
    elif key == "Fn::Sub":
        text = argument[0] if isinstance(argument, list) else argument
        yield from _PLACEHOLDER.findall(text)
