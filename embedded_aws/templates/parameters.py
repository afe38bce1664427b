"""The parameters of a template: values checked against their declarations, as Ref returns them.

Source: CloudFormation user guide, "CloudFormation template Parameters syntax". Whether a resource
named by a parameter exists is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from embedded_aws.templates.intrinsics import as_text
from embedded_aws.templates.template import Template, TemplateError

_ITEM: Final = r"(String|Number|AWS::[\w:]+)"
_VALUE: Final = rf"({_ITEM}|CommaDelimitedList|List<{_ITEM}>)"
_TYPE: Final = re.compile(rf"{_VALUE}|AWS::SSM::Parameter::Value<{_VALUE}>")
_NUMBERS: Final = ("Number", "List<Number>")
_SSM_NAME: Final = "AWS::SSM::Parameter::Name"
_SSM_VALUE: Final = "AWS::SSM::Parameter::Value<"


def resolve_parameters(
    template: Template, given: Mapping[str, str], ssm_value: Callable[[str], str]
) -> dict[str, Any]:
    """Return the value of every parameter of the template, with lists parsed.

    `ssm_value` reads an SSM parameter by name. Raises TemplateError for unknown, missing and
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
        name: _value(name, each, as_text(given.get(name, each.get("Default"))), ssm_value)
        for name, each in declared.items()
    }


def _value(
    name: str, declaration: Mapping[str, Any], text: str, ssm_value: Callable[[str], str]
) -> Any:
    kind = str(declaration.get("Type"))
    if not _TYPE.fullmatch(kind):
        raise TemplateError(f"Template format error: Unrecognized parameter type: {kind}")
    is_list, is_read = "List" in kind, kind.startswith(_SSM_VALUE)
    for item in _items(text) if is_list and not is_read else [text]:
        for problem in _problems(declaration, item):
            expected = declaration.get("ConstraintDescription", problem)
            raise TemplateError(f"Parameter {name} is {item!r}; {expected}")
    stored = ssm_value(text) if is_read or kind == _SSM_NAME else text
    value = stored if is_read else text
    return _items(value) if is_list else value


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]


def _problems(declaration: Mapping[str, Any], text: str) -> Iterator[str]:
    """Yield the requirements of a declaration that a value violates."""
    allowed = [as_text(item) for item in declaration.get("AllowedValues", [])]
    if allowed and text not in allowed:
        yield f"allowed: {', '.join(allowed)}"
    pattern = declaration.get("AllowedPattern")
    if pattern is not None and not re.fullmatch(pattern, text):
        yield f"it must match pattern {pattern}"
    if declaration["Type"] in _NUMBERS:
        yield from _out_of_range("value", _number(text), declaration)
    else:
        yield from _out_of_range("length", len(text), declaration)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _out_of_range(what: str, size: float | None, declaration: Mapping[str, Any]) -> Iterator[str]:
    if size is None:
        yield "it must be a number"
        return
    bound = what.capitalize()
    if size < float(declaration.get(f"Min{bound}", size)):
        yield f"its {what} must be at least {declaration[f'Min{bound}']}"
    if size > float(declaration.get(f"Max{bound}", size)):
        yield f"its {what} must be at most {declaration[f'Max{bound}']}"
