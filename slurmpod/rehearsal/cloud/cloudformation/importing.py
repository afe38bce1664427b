"""Change sets of type IMPORT: what is there already enters a stack, and nothing else changes.

Source: CloudFormation user guide, "Import AWS resources into a CloudFormation stack", its
considerations, and "Import AWS resources into a CloudFormation stack automatically".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.cloudformation.removal import RETAINING
from slurmpod.rehearsal.cloud.errors import validation_error
from slurmpod.rehearsal.cloud.resources import existence, schemas
from slurmpod.rehearsal.cloud.resources.provider import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmpod.rehearsal.cloud.clients import Clients
    from slurmpod.rehearsal.cloud.cloudformation.changes import Change
    from slurmpod.rehearsal.cloud.cloudformation.requests import (
        ChangeSetRequest,
        ResourceToImport,
    )
    from slurmpod.rehearsal.cloud.cloudformation.stack import Stack
    from slurmpod.rehearsal.cloud.cloudformation.stacks import Stacks
    from slurmpod.rehearsal.cloud.cloudformation.template import Template


def with_imports(
    stack: Stack,
    request: ChangeSetRequest,
    changes: tuple[Change, ...],
    stacks: Stacks,
    aws: Clients,
) -> tuple[tuple[Change, ...], dict[str, str]]:
    """Return the changes, imports told as such, and the physical ids of what is imported.

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
    return tuple(_told(change, imports) for change in changes), imports


def _check_requests(template: Template, wanted: Sequence[ResourceToImport]) -> None:
    """Raise ValidationError for what cannot be imported by this template at all."""
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
    """Raise ValidationError if anything but an import would happen, or somebody has a resource."""
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
    """Return what ImportExistingResources finds: names of resources to add, by logical id.

    Only resources whose template says their name in so many words and retains them, and that no
    stack has.
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


def _told(change: Change, imports: Mapping[str, str]) -> Change:
    if change.logical_id not in imports:
        return change
    return replace(change, action="Import", physical_id=imports[change.logical_id])


def _physical_id(wanted: ResourceToImport) -> str:
    """Return what Ref will give: the first of the type's identifiers."""
    return wanted.identifier[schemas.import_identifiers(wanted.type)[0]]


def _exists(aws: Clients, resource_type: str, name: str) -> bool:
    try:
        return existence.is_there(aws, resource_type, name)
    except ProviderError:
        return False


def _has_deletion_policy(template: Template, wanted: ResourceToImport) -> bool:
    return "DeletionPolicy" in template.section("Resources")[wanted.logical_id]
