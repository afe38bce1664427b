"""Which properties make CloudFormation replace a resource: AWS's own resource schemas know.

The schemas are those that cfn-lint ships; `createOnlyProperties` are JSON pointers.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEMA_REGION = "us-east-1"
"""The region with all types; whether a type exists elsewhere is checked by the CDK's synth."""


def changed_properties(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the properties that differ."""
    return tuple(sorted(k for k in {*old, *new} if old.get(k) != new.get(k)))


def replaces(resource_type: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Tell whether AWS replaces the resource for this change instead of updating it."""
    return any(_value(old, path) != _value(new, path) for path in create_only_paths(resource_type))


@cache
def create_only_paths(resource_type: str) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the properties that cannot change."""
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(_SCHEMA_REGION, resource_type).schema
    pointers: list[str] = schema.get("createOnlyProperties", [])
    return tuple(tuple(p.removeprefix("/properties/").split("/")) for p in pointers)


def _value(properties: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = properties
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
