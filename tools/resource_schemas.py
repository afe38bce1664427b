"""The table of AWS's own resource schemas for the embedded AWS, from those that cfn-lint ships.

`make golden` writes embedded_aws/data/resource_schemas.json with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

_REGION = "us-east-1"
"""The region with all types; whether a type exists elsewhere is checked by the CDK's synth."""


def resource_schemas(types: Iterable[str]) -> str:
    """Return the table of `types` as JSON, one type in a line.

    A type has `create_only`: the paths of the properties that cannot change; `identifiers`: the
    properties that identify it for import, none if CloudFormation cannot read it (CloudFormation
    user guide, "Resource type support"); `properties` and `definitions`: the keys that it has, as
    `embedded_aws.resources.provider` reads them.
    """
    rows = (f"{json.dumps(name)}: {json.dumps(_row(_schema(name)))}" for name in sorted(types))
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _schema(resource_type: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema(
        _REGION, resource_type
    ).schema
    return schema


def _row(schema: Mapping[str, Any]) -> dict[str, Any]:
    pointers = schema.get("createOnlyProperties", [])
    readable = "read" in schema.get("handlers", {})
    definitions: dict[str, Any] = {}
    properties = _keys(schema, schema.get("definitions", {}), definitions)
    return {
        "create_only": [pointer.removeprefix("/properties/").split("/") for pointer in pointers],
        "identifiers": [p.rpartition("/")[2] for p in schema["primaryIdentifier"] if readable],
        "properties": properties,
        "definitions": {name: keys for name, keys in definitions.items() if keys is not None},
    }


def _keys(
    schema: Mapping[str, Any], known: Mapping[str, Any], definitions: dict[str, Any]
) -> dict[str, Any] | list[Any] | str | None:
    """Return the keys that a value may have: none of that is said of what takes any key.

    They are a mapping from key to the keys of its value, a list with the keys of every item, or
    the name of a definition; `definitions` gets those that are named.
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in definitions:
            definitions[name] = {}  # a definition may contain itself
            definitions[name] = _keys(known[name], known, definitions)
        return None if definitions[name] is None else name
    if "properties" in schema:
        if schema.get("additionalProperties") is not False or schema.get("patternProperties"):
            return None
        return {key: _keys(each, known, definitions) for key, each in schema["properties"].items()}
    items = _keys(schema["items"], known, definitions) if "items" in schema else None
    return None if items is None else [items]
