"""A CloudFormation template, parsed and checked, and the creation order of its resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from embedded_aws.templates.references import references
from embedded_aws.templates.shape import document_problems, template_problems
from embedded_aws.templates.template_text import read_document

_SECTIONS = frozenset(
    {
        "AWSTemplateFormatVersion",
        "Conditions",
        "Description",
        "Mappings",
        "Metadata",
        "Outputs",
        "Parameters",
        "Resources",
        "Rules",
    }
)
_RESOURCE_KEYS = frozenset(
    {
        "Condition",
        "DeletionPolicy",
        "DependsOn",
        "Metadata",
        "Properties",
        "Type",
        "UpdateReplacePolicy",
    }
)
_POLICIES = {
    "DeletionPolicy": ("Delete", "Retain", "RetainExceptOnCreate", "Snapshot"),
    "UpdateReplacePolicy": ("Delete", "Retain", "Snapshot"),
}

RETAINING = ("Retain", "RetainExceptOnCreate")
"""The policies by which a resource outlives its stack."""


class TemplateError(Exception):
    """A template that CloudFormation or the embedded AWS refuses; the text says why."""


@dataclass(frozen=True)
class ResourceDefinition:
    """One entry of a template's Resources section, its properties not yet resolved."""

    logical_id: str
    type: str
    properties: Mapping[str, Any]
    depends_on: tuple[str, ...] = ()
    condition: str | None = None
    deletion_policy: str = "Delete"
    update_replace_policy: str = "Delete"


@dataclass(frozen=True)
class Template:
    """A parsed template; `body` is the text as it was submitted, which GetTemplate returns."""

    body: str
    document: Mapping[str, Any]
    resources: Mapping[str, ResourceDefinition]

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a section such as Outputs or Conditions, empty if the template has none."""
        return self.document.get(name) or {}

    @property
    def description(self) -> str | None:
        """The template's Description."""
        return self.document.get("Description")


EMPTY_TEMPLATE = Template(body="{}", document={}, resources={})
"""The template of a stack before its first change set is executed."""


def parse_template(body: str) -> Template:
    """Parse a template from JSON or YAML; raises TemplateError."""
    return checked_template(body, read_template(body))


def read_template(body: str) -> dict[str, Any]:
    """Parse a text into a document; raises TemplateError if it is not an object."""
    try:
        document = read_document(body)
    except ValueError as error:
        raise TemplateError(f"Template format error: {error}") from error
    if not isinstance(document, dict):
        raise TemplateError("Template format error: a template is a JSON or YAML object.")
    _refuse(document_problems(document))
    return document


def checked_template(body: str, document: Mapping[str, Any]) -> Template:
    """Return the template of a document after checking all of it; raises TemplateError."""
    _refuse(template_problems(document))
    for section in document.keys() - _SECTIONS:
        raise TemplateError(
            f"Template section {section} is not supported by the embedded AWS; "
            f"it knows {', '.join(sorted(_SECTIONS))}."
        )
    resources = document.get("Resources")
    if not resources:
        raise TemplateError("Template format error: At least one Resources member must be defined.")
    definitions = {name: _definition(name, entry) for name, entry in resources.items()}
    for definition in definitions.values():
        for missing in set(definition.depends_on) - definitions.keys():
            raise TemplateError(
                f"Template format error: Unresolved resource dependencies [{missing}] in the "
                f"Resources block of the template ({definition.logical_id} depends on it)."
            )
    _check_references(document)
    return Template(body=body, document=document, resources=definitions)


def _refuse(problems: Iterable[str]) -> None:
    for problem in problems:
        raise TemplateError(problem)


def _check_references(document: Mapping[str, Any]) -> None:
    """Raise TemplateError for names in a section that are not defined."""
    known = {*document["Resources"], *document.get("Parameters", {})}
    for section in ("Resources", "Outputs"):
        names = {name for name in references(document.get(section)) if "::" not in name}
        if names - known:
            raise TemplateError(
                "Template format error: Unresolved resource dependencies "
                f"[{', '.join(sorted(names - known))}] in the {section} block of the template"
            )


def _definition(logical_id: str, entry: Any) -> ResourceDefinition:
    if not isinstance(entry, dict) or not isinstance(entry.get("Type"), str):
        raise TemplateError(f"Template format error: resource {logical_id} has no Type.")
    for key in entry.keys() - _RESOURCE_KEYS:
        raise TemplateError(
            f"{key} of resource {logical_id} is not supported by the embedded AWS; "
            f"it knows {', '.join(sorted(_RESOURCE_KEYS))}."
        )
    depends_on = entry.get("DependsOn", [])
    return ResourceDefinition(
        logical_id=logical_id,
        type=entry["Type"],
        properties=entry.get("Properties") or {},
        depends_on=(depends_on,) if isinstance(depends_on, str) else tuple(depends_on),
        condition=entry.get("Condition"),
        deletion_policy=_policy(logical_id, "DeletionPolicy", entry),
        update_replace_policy=_policy(logical_id, "UpdateReplacePolicy", entry),
    )


def _policy(logical_id: str, key: str, entry: Mapping[str, Any]) -> str:
    policy = entry.get(key, "Delete")
    if policy not in _POLICIES[key]:
        raise TemplateError(
            f"{key} {policy} of resource {logical_id} is not supported by the embedded AWS; "
            f"it knows {', '.join(_POLICIES[key])}."
        )
    return str(policy)


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
    return {*definition.depends_on, *references(definition.properties)} - {definition.logical_id}
