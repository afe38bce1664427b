"""Planned changes of a stack by a submission: the content of a change set.

Resources are compared by their resolved properties, so that a resource also changes when
something that it refers to is replaced. A resource that does not exist yet has no id; a marker that
differs from every real value takes its place.

A change set of type IMPORT adopts existing resources and changes nothing else. Source:
CloudFormation user guide, "Import AWS resources into a CloudFormation stack", its considerations,
and "Import AWS resources into a CloudFormation stack automatically".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.cloudformation.stack import (
    Change,
    ChangeSetRequest,
    ResourceToImport,
    Stack,
    StackResource,
    Stacks,
    Submission,
)
from embedded_aws.errors import validation_error
from embedded_aws.resources import registry, schemas
from embedded_aws.resources.provider import Provider, ProviderError
from embedded_aws.resources.registry import provider_for
from embedded_aws.resources.schemas import changed_properties
from embedded_aws.templates.intrinsics import (
    UNKNOWN,
    AccountView,
    Referable,
    Resolver,
    StackScope,
    check_rules,
)
from embedded_aws.templates.parameters import resolve_parameters
from embedded_aws.templates.template import (
    RETAINING,
    ResourceDefinition,
    Template,
    TemplateError,
    creation_order,
)


def plan(
    stack: Stack, submission: Submission, account_view: AccountView, aws: Clients
) -> tuple[Change, ...]:
    """Return the changes of a submission; raises ValidationError if it cannot be done."""
    try:
        scope = scope_of(stack, submission, account_view, aws)
        check_rules(submission.template, scope)
        return plan_changes(stack.resources, submission.template, submission.tags, scope)
    except TemplateError as error:
        raise validation_error(str(error)) from error


def scope_of(
    stack: Stack, submission: Submission, account_view: AccountView, aws: Clients
) -> StackScope:
    """Return the scope in which a stack's submission is resolved."""

    def ssm_value(name: str) -> str:
        try:
            return str(aws.service("ssm").get_parameter(Name=name)["Parameter"]["Value"])
        except ClientError as error:
            raise TemplateError(
                f"Unable to fetch parameters [{name}] from parameter store for this account."
            ) from error

    return StackScope(
        template=submission.template,
        pseudo_parameters={
            "AWS::AccountId": aws.account,
            "AWS::Partition": aws.partition,
            "AWS::Region": aws.region,
            "AWS::StackId": stack.arn,
            "AWS::StackName": stack.name,
            "AWS::URLSuffix": aws.dns_suffix,
        },
        parameters=resolve_parameters(submission.template, submission.parameters, ssm_value),
        resources=stack.resources,
        account_view=account_view,
    )


def is_unchanged(stack: Stack, submission: Submission, changes: tuple[Change, ...]) -> bool:
    """Return whether a submission changes nothing about the stack."""
    current = stack.submission
    return (
        stack.status != "REVIEW_IN_PROGRESS"
        and not changes
        and submission.template.document == current.template.document
        and submission.parameters == current.parameters
        and submission.tags == current.tags
    )


@dataclass(frozen=True)
class Unborn:
    """A resource that does not exist yet: every reference to it is a marker."""

    logical_id: str

    @property
    def physical_id(self) -> str:
        """A marker in place of an id."""
        return f"{UNKNOWN}{self.logical_id}}}}}"

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Markers in place of all attributes."""
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
    """Return the resources whose conditions hold, in order of creation."""
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
    """Return the changes that bring `existing` to what the template describes.

    `scope` is used with its own set of resources: those that stay, and placeholders for new ones.
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
    """Return why a resource cannot be updated in place, or None if it can."""
    provider = provider_for(definition.logical_id, definition.type)
    fixed = provider.fixed(old, new)
    if not fixed:
        return None
    return (
        f"{', '.join(fixed)} of {definition.type} ({definition.logical_id}) cannot be changed in "
        f"the embedded AWS; it can change: {', '.join(sorted(provider.in_place)) or 'nothing'}"
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
    provider = provider_for(definition.logical_id, definition.type)
    if not (changed or provider.is_always_updated):
        return None
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


def resolve_properties(
    definition: ResourceDefinition, resolver: Resolver, stack_tags: Mapping[str, str]
) -> dict[str, Any]:
    """Resolve a definition's properties, and add the stack's tags to a taggable resource.

    A tag of the resource takes precedence over the stack's tag with the same key.
    """
    properties = _typed(definition, resolver.resolve(definition.properties))
    provider = provider_for(definition.logical_id, definition.type)
    if stack_tags and "Tags" in provider.supported:
        own = _own_tags(definition, properties, provider)
        merged = dict(sorted({**stack_tags, **own}.items()))
        pairs = [{"Key": key, "Value": value} for key, value in merged.items()]
        properties["Tags"] = merged if provider.maps_tags else pairs
    return properties


def _own_tags(
    definition: ResourceDefinition, properties: Mapping[str, Any], provider: Provider
) -> dict[str, str]:
    given = properties.get("Tags", [])
    try:
        return dict(given) if provider.maps_tags else {tag["Key"]: tag["Value"] for tag in given}
    except (KeyError, TypeError, ValueError) as error:
        form = "JSONObject" if provider.maps_tags else "JSONArray of Key and Value"
        raise TemplateError(
            f"Resource {definition.logical_id}: Properties validation failed with message: "
            f"#/Tags: expected type: {form}, found: {given!r}"
        ) from error


def _typed(definition: ResourceDefinition, properties: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return schemas.coerced(definition.type, properties)
    except TemplateError as error:
        raise TemplateError(f"Resource {definition.logical_id}: {error}") from error


def with_imports(
    stack: Stack,
    request: ChangeSetRequest,
    changes: tuple[Change, ...],
    stacks: Stacks,
    aws: Clients,
) -> tuple[tuple[Change, ...], dict[str, str]]:
    """Return the changes, imports marked as such, and the physical ids of imported resources.

    Raises ValidationError for a change set of type IMPORT that CloudFormation would refuse.
    """
    if request.kind == "IMPORT":
        _check_requests(request.submission.template, request.to_import)
        _check_changes(stack, request, changes, stacks)
        imports = {each.logical_id: _physical_id(each) for each in request.to_import}
    elif request.imports_existing:
        imports = _existing_by_name(stack, request.submission.template, changes, stacks, aws)
    else:
        imports = {}
    return tuple(_as_import(change, imports) for change in changes), imports


def _check_requests(template: Template, wanted: Sequence[ResourceToImport]) -> None:
    """Raise ValidationError for resources that this template cannot import."""
    if not wanted:
        raise validation_error("ResourcesToImport is required for a change set of type IMPORT")
    for each in wanted:
        definition = template.resources.get(each.logical_id)
        if definition is None or definition.type != each.type:
            raise validation_error(
                f"Resource {each.logical_id} of type {each.type} is not in the template"
            )
    unsupported = sorted(
        {each.type for each in wanted if not schemas.import_identifiers(each.type)}
    )
    if unsupported:
        raise validation_error(
            f"ResourceTypes [{', '.join(unsupported)}] are not supported for Import"
        )
    for each in wanted:
        if sorted(each.identifier) != sorted(schemas.import_identifiers(each.type)):
            raise validation_error(
                f"Invalid ResourceIdentifier of {each.logical_id}: "
                f"{each.type} is identified by {', '.join(schemas.import_identifiers(each.type))}"
            )
    unsafe = [each.logical_id for each in wanted if not _has_deletion_policy(template, each)]
    if unsafe:
        raise validation_error(
            f"Following resources to import [{', '.join(unsafe)}] must have DeletionPolicy "
            "attribute specified in the template."
        )


def _check_changes(
    stack: Stack, request: ChangeSetRequest, changes: Sequence[Change], stacks: Stacks
) -> None:
    """Raise ValidationError if there are other changes, or a resource is in a stack already."""
    wanted = request.to_import
    imported = {each.logical_id for each in wanted}
    present = sorted(imported & stack.resources.keys())
    if present:
        raise validation_error(f"Resources [{', '.join(present)}] already exist in the stack")
    for each in wanted:
        owner = stacks.owner(stack.region, each.type, _physical_id(each))
        if owner:
            raise validation_error(f"{_physical_id(each)} already exists in stack {owner.arn}")
    others = [change.logical_id for change in changes if change.logical_id not in imported]
    if others:
        raise validation_error(
            f"You have modified resources [{', '.join(others)}] in your template that are not "
            "being imported. Update, create or delete operations cannot be executed during import "
            "operations."
        )
    outputs = request.submission.template.section("Outputs")
    if outputs != stack.submission.template.section("Outputs"):
        raise validation_error(
            "As part of the import operation, you cannot modify or add [Outputs]"
        )


def _existing_by_name(
    stack: Stack, template: Template, changes: Sequence[Change], stacks: Stacks, aws: Clients
) -> dict[str, str]:
    """Return the names of existing resources that ImportExistingResources adopts, by logical id.

    Only resources that the template names literally and retains, and that are not in any stack.
    """
    found = {}
    for change in changes:
        if change.action != "Add":
            continue
        definition = template.resources[change.logical_id]
        values = [
            definition.properties.get(name) for name in schemas.import_identifiers(definition.type)
        ]
        name = values[0] if len(values) == 1 else None
        if not isinstance(name, str) or definition.deletion_policy not in RETAINING:
            continue
        if not stacks.owner(stack.region, definition.type, name) and _exists(
            aws, definition.type, name
        ):
            found[change.logical_id] = name
    return found


def _as_import(change: Change, imports: Mapping[str, str]) -> Change:
    if change.logical_id not in imports:
        return change
    return replace(change, action="Import", physical_id=imports[change.logical_id])


def _physical_id(wanted: ResourceToImport) -> str:
    """Return the value of Ref: the first of the type's identifiers."""
    return wanted.identifier[schemas.import_identifiers(wanted.type)[0]]


def _exists(aws: Clients, resource_type: str, name: str) -> bool:
    try:
        return registry.is_there(aws, resource_type, name)
    except ProviderError:
        return False


def _has_deletion_policy(template: Template, wanted: ResourceToImport) -> bool:
    return "DeletionPolicy" in template.section("Resources")[wanted.logical_id]
