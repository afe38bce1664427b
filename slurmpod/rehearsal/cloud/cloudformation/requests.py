"""Reading what CreateStack, UpdateStack and CreateChangeSet were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.cloudformation.stack import Submission
from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError, parse_template
from slurmpod.rehearsal.cloud.errors import validation_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.cloudformation.engine import CloudFormation
    from slurmpod.rehearsal.cloud.cloudformation.template import Template

# ImportExistingResources, which `cdk bootstrap` always asks for, needs nothing: the account was
# empty at the start, so what has a stack's names was made by a stack.
_UNSUPPORTED = (
    "DisableRollback",
    "NotificationARNs",
    "ResourcesToImport",
    "RetainResources",
    "RollbackConfiguration",
    "StackPolicyBody",
    "StackPolicyURL",
)


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
