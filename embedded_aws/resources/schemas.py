"""AWS's own resource schemas: names of properties, and the changes that replace a resource.

`tools.resource_schemas` makes the table of them, for the types that the embedded AWS supports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from embedded_aws.cloudformation.intrinsics import function_name

Path = tuple[str, ...]
"""The way to a property, such as ("LustreConfiguration", "DeploymentType")."""

_NO_SCHEMA: Final[Mapping[str, Any]] = {"create_only": (), "identifiers": (), "properties": None}
"""What is known of a type that is not AWS's own, or not supported."""


def changed_properties(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the properties that differ."""
    return tuple(sorted(k for k in {*old, *new} if old.get(k) != new.get(k)))


def differs_at(old: Mapping[str, Any], new: Mapping[str, Any], paths: tuple[Path, ...]) -> bool:
    """Tell whether any of the properties at `paths` differs."""
    return any(_value(old, path) != _value(new, path) for path in paths)


def create_only_paths(resource_type: str) -> tuple[Path, ...]:
    """Return the paths of the properties that cannot change."""
    return tuple(map(tuple, _schema(resource_type)["create_only"]))


def import_identifiers(resource_type: str) -> tuple[str, ...]:
    """Return the properties that identify a resource for import, none if the type has no import.

    Import and drift detection need a type that CloudFormation can read (CloudFormation user guide,
    "Resource type support"; it lists no AWS::FSx::FileSystem).
    """
    return tuple(_schema(resource_type)["identifiers"])


def extraneous_keys(resource_type: str, properties: Mapping[str, Any]) -> list[str]:
    """Return, in CloudFormation's words, the keys at any depth that the type does not have.

    `properties` may still contain functions; what those will give is not looked at. Types that are
    not AWS's own have no schema.
    """
    schema = _schema(resource_type)
    return list(_extraneous(schema["properties"], properties, schema, "#"))


def _schema(resource_type: str) -> Mapping[str, Any]:
    return _schemas().get(resource_type, _NO_SCHEMA)


@cache
def _schemas() -> Mapping[str, Mapping[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads(
        files("embedded_aws").joinpath("data", "resource_schemas.json").read_text(encoding="utf-8")
    )
    return table


def _extraneous(keys: Any, value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield what `value` has beyond `keys`, which are told in `tools.resource_schemas`."""
    keys = schema["definitions"][keys] if isinstance(keys, str) else keys
    if isinstance(value, list) and isinstance(keys, list):
        for number, item in enumerate(value):
            yield from _extraneous(keys[0], item, schema, f"{where}/{number}")
    if not isinstance(value, dict) or function_name(value) or not isinstance(keys, dict):
        return
    for key in value:
        if key in keys:
            yield from _extraneous(keys[key], value[key], schema, f"{where}/{key}")
        else:
            yield f"{where}: extraneous key [{key}] is not permitted"


def _value(properties: Mapping[str, Any], path: Path) -> Any:
    value: Any = properties
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
