"""Template parameters: what was given, what is the default, what stands behind an SSM name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.cloudformation.template import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmpod.rehearsal.cloud.cloudformation.template import Template

_SSM_VALUE = "AWS::SSM::Parameter::Value<"


def resolve_parameters(
    template: Template, given: Mapping[str, str], ssm_value: Callable[[str], str]
) -> dict[str, Any]:
    """Return the value of every parameter of the template, lists as lists.

    `ssm_value` reads the SSM parameter of a name. Raises TemplateError for unknown, missing and
    disallowed values.
    """
    declared = template.section("Parameters")
    unknown = sorted(given.keys() - declared.keys())
    if unknown:
        raise TemplateError(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    missing = [name for name in declared if name not in given and "Default" not in declared[name]]
    if missing:
        raise TemplateError(f"Parameters: [{', '.join(missing)}] must have values")
    return {
        name: _value(name, declaration, given.get(name, declaration.get("Default")), ssm_value)
        for name, declaration in declared.items()
    }


def _value(
    name: str, declaration: Mapping[str, Any], value: Any, ssm_value: Callable[[str], str]
) -> Any:
    text = str(value)
    allowed = [str(item) for item in declaration.get("AllowedValues", [])]
    if allowed and text not in allowed:
        raise TemplateError(f"Parameter {name} is {text!r}; allowed: {', '.join(allowed)}")
    kind = str(declaration["Type"])
    if kind.startswith(_SSM_VALUE):
        text = ssm_value(text)
    return text.split(",") if "List" in kind else text
