"""The transform AWS::LanguageExtensions: expansion of loops, and functions.

Source: CloudFormation template reference, "AWS::LanguageExtensions transform", "Fn::ForEach",
"Fn::Length" and "Fn::ToJsonString". `Fn::Length`, `Fn::ToJsonString` and the default of
`Fn::FindInMap` are evaluated with all other functions; here they are only permitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from embedded_aws.templates.intrinsics import Resolver, StackScope, as_text
from embedded_aws.templates.parameters import resolve_parameters
from embedded_aws.templates.shape import LOOP
from embedded_aws.templates.template import (
    Template,
    TemplateError,
    checked_template,
    read_template,
)

_TRANSFORM: Final = "AWS::LanguageExtensions"
_FUNCTIONS: Final = ("Fn::Length", "Fn::ToJsonString", LOOP)
_NOT_ALPHANUMERIC = re.compile(r"[^0-9A-Za-z]")


def processed_template(
    body: str, parameters: Mapping[str, str], pseudo_parameters: Mapping[str, str]
) -> Template:
    """Parse a template and unroll its loops for these parameters; raises TemplateError."""
    document = read_template(body)
    transforms = document.get("Transform", [])
    if transforms not in (_TRANSFORM, [_TRANSFORM]):
        for name in _used(document):
            raise TemplateError(
                f"Template error: Encountered unsupported function: {name} "
                f"(it needs `Transform: {_TRANSFORM}`)"
            )
        return checked_template(body, document)
    scope = _scope(document, parameters, pseudo_parameters)
    unrolled = _unrolled({**document, "Transform": None}, Resolver(scope))
    del unrolled["Transform"]
    return checked_template(body, unrolled)


def _used(value: Any) -> Iterator[str]:
    """Yield the transform's functions that a document uses."""
    if isinstance(value, list):
        for item in value:
            yield from _used(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key.startswith(_FUNCTIONS):
                yield key
            yield from _used(item)


def _scope(
    document: Mapping[str, Any], given: Mapping[str, str], pseudo_parameters: Mapping[str, str]
) -> StackScope:
    """Return the scope of collections: parameters and mappings, no resources."""
    declared = {
        name: each
        for name, each in document.get("Parameters", {}).items()
        if name in given or "Default" in each
    }
    template = Template("", {**document, "Parameters": declared}, {})
    known = {name: value for name, value in given.items() if name in declared}
    parameters = resolve_parameters(template, known, lambda name: name)
    return StackScope(template, pseudo_parameters, parameters, {}, _NothingElse())


class _NothingElse:
    """The account as seen by collections, which cannot refer to it."""

    def exported(self, name: str) -> str:
        """Refuse."""
        raise TemplateError(f"Fn::ForEach cannot iterate over an export: {name}")

    def stack_output(self, stack_name: str, region: str, output: str) -> str:
        """Refuse."""
        raise TemplateError(f"Fn::ForEach cannot iterate over an output: {output} of {stack_name}")

    def zones(self, region: str) -> list[str]:
        """Refuse."""
        raise TemplateError(f"Fn::ForEach cannot iterate over the zones of {region}")


def _unrolled(value: Any, resolver: Resolver) -> Any:
    """Return a value with its loops, at any depth, replaced by their results."""
    if isinstance(value, list):
        return [_unrolled(item, resolver) for item in value]
    if not isinstance(value, dict):
        return value
    unrolled: dict[str, Any] = {}
    for key, item in value.items():
        if not key.startswith(LOOP):
            unrolled[key] = _unrolled(item, resolver)
            continue
        for fragment in _iterations(key, item, resolver):
            unrolled |= _unrolled(fragment, resolver)
    return unrolled


def _iterations(name: str, loop: Any, resolver: Resolver) -> list[dict[str, Any]]:
    """Return the fragment for each item of a loop's collection."""
    try:
        identifier, collection, fragment = loop
        items = [as_text(item) for item in _flat(resolver.resolve(collection))]
    except (TypeError, ValueError) as error:
        raise TemplateError(
            f"Template error: {name} needs [identifier, collection, fragment]: {error}"
        ) from error
    return [_replaced(fragment, str(identifier), item) for item in items]


def _flat(collection: Any) -> Iterator[Any]:
    """Yield the items of a collection, flattening nested lists."""
    if not isinstance(collection, list):
        raise TypeError(f"{collection!r} is not a list")
    for item in collection:
        yield from item if isinstance(item, list) else [item]


def _replaced(value: Any, identifier: str, item: str) -> Any:
    """Replace a loop's identifier with an item of the collection, in keys and values."""
    if isinstance(value, list):
        return [_replaced(each, identifier, item) for each in value]
    if isinstance(value, dict):
        if value == {"Ref": identifier}:
            return item
        return {
            _replaced(key, identifier, item): _replaced(each, identifier, item)
            for key, each in value.items()
        }
    if not isinstance(value, str):
        return value
    plain = _NOT_ALPHANUMERIC.sub("", item)
    return value.replace(f"${{{identifier}}}", item).replace(f"&{{{identifier}}}", plain)
