"""Reading what CreateStack, UpdateStack and CreateChangeSet were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.cloudformation.removal import DeletionRequest
from slurmpod.rehearsal.cloud.cloudformation.stack import Submission
from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError, parse_template
from slurmpod.rehearsal.cloud.errors import validation_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.cloudformation.engine import CloudFormation
    from slurmpod.rehearsal.cloud.cloudformation.template import Template

_UNSUPPORTED = (
    "DisableRollback",
    "NotificationARNs",
    "RollbackConfiguration",
    "StackPolicyBody",
    "StackPolicyURL",
)


@dataclass(frozen=True)
class ResourceToImport:
    """One entry of ResourcesToImport: a resource of the template, and which one it is."""

    logical_id: str
    type: str
    identifier: Mapping[str, str]


@dataclass(frozen=True)
class ChangeSetRequest:
    """What CreateChangeSet was asked for; `kind` is CREATE, UPDATE or IMPORT."""

    stack_name: str
    name: str
    kind: str
    description: str
    submission: Submission
    to_import: tuple[ResourceToImport, ...] = ()
    imports_existing: bool = False
    """Whether what has the names that the template gives is taken in."""


def read_change_set(
    engine: CloudFormation, region: str, given: Mapping[str, Any]
) -> ChangeSetRequest:
    """Return what CreateChangeSet is asked for."""
    return ChangeSetRequest(
        stack_name=given["StackName"],
        name=given["ChangeSetName"],
        kind=given.get("ChangeSetType", "UPDATE"),
        description=given.get("Description", ""),
        submission=read_submission(engine, region, given),
        to_import=tuple(
            ResourceToImport(
                each["LogicalResourceId"], each["ResourceType"], each["ResourceIdentifier"]
            )
            for each in given.get("ResourcesToImport") or ()
        ),
        imports_existing=bool(given.get("ImportExistingResources")),
    )


def read_deletion(given: Mapping[str, Any]) -> DeletionRequest:
    """Return what DeleteStack is asked for beside the stack."""
    return DeletionRequest(
        retained=frozenset(given.get("RetainResources") or ()),
        is_forced=given.get("DeletionMode") == "FORCE_DELETE_STACK",
    )


def read_template(engine: CloudFormation, region: str, given: Mapping[str, Any]) -> Template:
    """Return the template of a request, the stack's own where the request names only that."""
    current = _current(engine, region, given.get("StackName", ""))
    if current is not None and not (given.get("TemplateBody") or given.get("TemplateURL")):
        return current.template
    return _parse(_body(engine, region, given))


def refuse_unsupported(given: Mapping[str, Any]) -> None:
    """Raise ValidationError for a request parameter that would otherwise be silently ignored."""
    for name in _UNSUPPORTED:
        if given.get(name):
            raise validation_error(f"{name} is not supported by the embedded AWS")


def read_submission(engine: CloudFormation, region: str, given: Mapping[str, Any]) -> Submission:
    """Return the template, parameters and tags of a request, with what it reuses filled in."""
    refuse_unsupported(given)
    current = _current(engine, region, given["StackName"])
    if given.get("UsePreviousTemplate") and current is not None:
        template = current.template
    else:
        template = _parse(_body(engine, region, given))
    return Submission(
        template=template,
        parameters=_parameters(given, current),
        tags={tag["Key"]: tag["Value"] for tag in given.get("Tags") or []},
        capabilities=tuple(given.get("Capabilities") or ()),
        role_arn=given.get("RoleARN"),
    )


def _current(engine: CloudFormation, region: str, name_or_arn: str) -> Submission | None:
    with engine.lock:
        for stack in engine.stacks.active(region):
            if name_or_arn in (stack.name, stack.arn):
                return stack.submission
    return None


def _body(engine: CloudFormation, region: str, given: Mapping[str, Any]) -> str:
    if given.get("TemplateBody"):
        return str(given["TemplateBody"])
    if given.get("TemplateURL"):
        return engine.template_text(region, given["TemplateURL"])
    raise validation_error("Either Template URL or Template Body must be specified.")


def _parse(body: str) -> Template:
    try:
        return parse_template(body)
    except TemplateError as error:
        raise validation_error(str(error)) from error


def _parameters(given: Mapping[str, Any], current: Submission | None) -> dict[str, str]:
    previous = current.parameters if current is not None else {}
    parameters = {}
    for parameter in given.get("Parameters") or []:
        name = parameter["ParameterKey"]
        if not parameter.get("UsePreviousValue"):
            parameters[name] = str(parameter.get("ParameterValue", ""))
        elif name in previous:
            parameters[name] = previous[name]
    return parameters
