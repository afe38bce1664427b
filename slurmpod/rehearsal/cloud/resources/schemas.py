"""What AWS's own resource schemas know: names of properties, and which changes replace a resource.

The schemas are those that cfn-lint ships; `createOnlyProperties` are JSON pointers.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.cloudformation.intrinsics import function_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Path = tuple[str, ...]
"""The way to a property, such as ("LustreConfiguration", "DeploymentType")."""

_SCHEMA_REGION = "us-east-1"
"""The region with all types; whether a type exists elsewhere is checked by the CDK's synth."""


def changed_properties(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the properties that differ."""
    return tuple(sorted(k for k in {*old, *new} if old.get(k) != new.get(k)))


def differs_at(old: Mapping[str, Any], new: Mapping[str, Any], paths: tuple[Path, ...]) -> bool:
    """Tell whether any of the properties at `paths` differs."""
    return any(_value(old, path) != _value(new, path) for path in paths)


@cache
def create_only_paths(resource_type: str) -> tuple[Path, ...]:
    """Return the paths of the properties that cannot change."""
    pointers: list[str] = _schema(resource_type).get("createOnlyProperties", [])
    return tuple(tuple(p.removeprefix("/properties/").split("/")) for p in pointers)


@cache
def import_identifiers(resource_type: str) -> tuple[str, ...]:
    """Return the properties that identify a resource for import, none if the type has no import.

    Import and drift detection need a type that CloudFormation can read (CloudFormation user guide,
    "Resource type support"; it lists no AWS::FSx::FileSystem).
    """
    if not resource_type.startswith("AWS::") or resource_type.startswith("AWS::CDK::"):
        return ()
    schema = _schema(resource_type)
    if "read" not in schema.get("handlers", {}):
        return ()
    return tuple(pointer.rpartition("/")[2] for pointer in schema["primaryIdentifier"])


def extraneous_keys(resource_type: str, properties: Mapping[str, Any]) -> list[str]:
    """Return, in CloudFormation's words, the keys at any depth that the type does not have.

    `properties` may still contain functions; what those will give is not looked at. Types that are
    not AWS's own have no schema.
    """
    if not resource_type.startswith("AWS::") or resource_type.startswith("AWS::CDK::"):
        return []
    schema = _schema(resource_type)
    definitions = {"#/definitions/" + k: v for k, v in schema.get("definitions", {}).items()}
    return list(_extraneous(schema, properties, definitions, "#"))


def _schema(resource_type: str) -> Any:
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

    return PROVIDER_SCHEMA_MANAGER.get_resource_schema(_SCHEMA_REGION, resource_type).schema


def _extraneous(
    schema: Mapping[str, Any], value: Any, definitions: Mapping[str, Any], where: str
) -> Iterator[str]:
    schema = definitions.get(schema.get("$ref", ""), schema)
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _extraneous(schema.get("items", {}), item, definitions, f"{where}/{number}")
    if not isinstance(value, dict) or function_name(value) or "properties" not in schema:
        return
    for key in value:
        if key in schema["properties"]:
            yield from _extraneous(
                schema["properties"][key], value[key], definitions, f"{where}/{key}"
            )
        elif schema.get("additionalProperties") is False and not schema.get("patternProperties"):
            yield f"{where}: extraneous key [{key}] is not permitted"


def _value(properties: Mapping[str, Any], path: Path) -> Any:
    value: Any = properties
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
