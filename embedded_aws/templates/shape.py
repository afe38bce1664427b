"""The shape of a template: errors that CloudFormation reports before it evaluates values. Pure.

Messages are CloudFormation's where these are known. Each check relies on those before it: only the
first problem is meaningful.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

LOOP: Final = "Fn::ForEach::"
"""Prefix of a loop's key in an unprocessed template."""

_SECTIONS: Final = ("Conditions", "Mappings", "Outputs", "Parameters", "Resources", "Rules")
"""The sections whose entries are objects."""

_TEMPLATE: Final = "Template format error:"


def document_problems(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a document is not a template, whether or not its loops are unrolled."""
    for path in _nulls(document, ""):
        yield f"{_TEMPLATE} [{path}] 'null' values are not allowed in templates"
    for name in (*_SECTIONS, "Metadata"):
        if not isinstance(document.get(name, {}), dict):
            yield f"{_TEMPLATE} [/{name}] an object is expected"
    for name in _SECTIONS:
        for key, entry in document.get(name, {}).items():
            if not isinstance(entry, dict) and not key.startswith(LOOP):
                yield f"{_TEMPLATE} [/{name}/{key}] an object is expected"


def template_problems(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a document with its loops unrolled is not a template."""
    yield from document_problems(document)
    for name, resource in document.get("Resources", {}).items():
        yield from _resource_problems(name, resource)
    for name, output in document.get("Outputs", {}).items():
        yield from _output_problems(name, output)
    for name, rule in document.get("Rules", {}).items():
        if not _is_list_of_assertions(rule.get("Assertions")):
            yield f"{_TEMPLATE} Rule {name} is malformed. Every Rules member must have Assertions."
    yield from _condition_problems(document.get("Conditions", {}))
    for section in ("Resources", "Outputs"):
        yield from _function_problems(document.get(section))


def _nulls(value: Any, path: str) -> Iterator[str]:
    if value is None:
        yield path
    elif isinstance(value, list | dict):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _nulls(item, f"{path}/{key}")


def _resource_problems(name: str, resource: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(resource.get("Properties", {}), dict):
        yield f"{_TEMPLATE} [/Resources/{name}/Properties] an object is expected"
    if not isinstance(resource.get("Condition", ""), str):
        yield f"{_TEMPLATE} Every Condition member must be a string."
    needs = resource.get("DependsOn", [])
    if not all(isinstance(each, str) for each in (needs if isinstance(needs, list) else [needs])):
        yield f"{_TEMPLATE} Every DependsOn value must be a string."


def _output_problems(name: str, output: Mapping[str, Any]) -> Iterator[str]:
    if "Value" not in output:
        yield f"{_TEMPLATE} Every Outputs member must contain a Value object ({name} has none)"
    if not isinstance(output.get("Condition", ""), str):
        yield f"{_TEMPLATE} Every Condition member must be a string."
    export = output.get("Export", {"Name": name})
    if not isinstance(export, dict) or "Name" not in export:
        yield (
            f"{_TEMPLATE} Output {name} is malformed. The Name field of every Export member must "
            "be specified."
        )


def _is_list_of_assertions(given: Any) -> bool:
    return isinstance(given, list) and all(
        isinstance(each, dict) and "Assert" in each for each in given
    )


def _condition_problems(conditions: Mapping[str, Any]) -> Iterator[str]:
    """Yield why conditions cannot be evaluated, for example because they are circular."""
    needs = {name: list(_arguments(body, "Condition")) for name, body in conditions.items()}
    if not all(isinstance(each, str) for names in needs.values() for each in names):
        yield f"{_TEMPLATE} Every Condition member must be a string."
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle = ", ".join(sorted(set(error.args[1])))
        yield f"{_TEMPLATE} Circular dependency between conditions: [{circle}]"


def _function_problems(value: Any) -> Iterator[str]:
    """Yield the functions whose arguments have no valid name."""
    if not all(map(_is_attribute, _arguments(value, "Fn::GetAtt"))):
        yield (
            "Template error: every Fn::GetAtt object requires two non-empty parameters, the "
            "resource name and the resource attribute"
        )
    if not all(map(_is_substitution, _arguments(value, "Fn::Sub"))):
        yield (
            "Template error: One or more Fn::Sub intrinsic functions don't specify expected "
            "arguments. Specify a string as first argument, and an optional second argument to "
            "specify a mapping of values to replace in the string"
        )


def _arguments(value: Any, function: str) -> Iterator[Any]:
    """Yield the arguments of a function, at any depth in a value."""
    if isinstance(value, dict):
        if function in value:
            yield value[function]
        for item in value.values():
            yield from _arguments(item, function)
    elif isinstance(value, list):
        for item in value:
            yield from _arguments(item, function)


def _is_attribute(given: Any) -> bool:
    parts = given.split(".", 1) if isinstance(given, str) else given
    return isinstance(parts, list) and len(parts) == 2 and isinstance(parts[0], str) and all(parts)


def _is_substitution(given: Any) -> bool:
    if isinstance(given, list) and len(given) == 2:
        return isinstance(given[0], str) and isinstance(given[1], dict)
    return isinstance(given, str)
