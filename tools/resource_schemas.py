"""The table of AWS's resource schemas for the embedded AWS, from the schemas in cfn-lint.

`make golden` writes embedded_aws/data/resource_schemas.json with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from tools.own_schemas import load_own_schemas

_REGION = "us-east-1"
"""The region with all types; whether a type exists elsewhere is checked by the CDK's synth."""
_SCALARS = ("boolean", "integer", "number", "string")


Schemas = Callable[[str], Mapping[str, Any]]
"""A function that returns the schema of a type."""


def pinned_schema(resource_type: str) -> Mapping[str, Any]:
    """Return the schema of a type from the installed cfn-lint, or slurmpod's own."""
    load_own_schemas()
    schema: Mapping[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema(
        _REGION, resource_type
    ).schema
    return schema


def resource_schemas(types: Iterable[str], schema_of: Schemas = pinned_schema) -> str:
    """Return the table of `types` as JSON, one type per line.

    A type has `create_only`: the paths of the properties that cannot change; `identifiers`: the
    properties that identify it for import, none if CloudFormation cannot read it (CloudFormation
    user guide, "Resource type support"); `properties` and `definitions`: the keys that it has, as
    `embedded_aws.resources.provider` reads them.
    """
    rows = (f"{json.dumps(name)}: {json.dumps(_row(schema_of(name)))}" for name in sorted(types))
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _row(schema: Mapping[str, Any]) -> dict[str, Any]:
    pointers = schema.get("createOnlyProperties", [])
    readable = "read" in schema.get("handlers", {})
    definitions: dict[str, Any] = {}
    properties = _keys(schema, schema.get("definitions", {}), definitions)
    return {
        "create_only": [pointer.removeprefix("/properties/").split("/") for pointer in pointers],
        "identifiers": [p.rpartition("/")[2] for p in schema["primaryIdentifier"] if readable],
        "properties": properties,
        "definitions": {name: keys for name, keys in definitions.items() if _is_structure(keys)},
    }


def _keys(schema: Mapping[str, Any], known: Mapping[str, Any], definitions: dict[str, Any]) -> Any:
    """Return the keys that a value may have, or its type if it has no keys.

    The result is a mapping from key to the keys of its value, with the key `*` if others are
    allowed; a list with the keys of every item; the name of a definition; one of the scalar types;
    or None for values of several types. Named definitions are added to `definitions`.
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in definitions:
            definitions[name] = {}  # a definition may contain itself
            definitions[name] = _keys(known[name], known, definitions)
        return name if _is_structure(definitions[name]) else definitions[name]
    if "properties" in schema:
        is_closed = schema.get("additionalProperties") is False
        others = {} if is_closed and not schema.get("patternProperties") else {"*": None}
        keys = {key: _keys(each, known, definitions) for key, each in schema["properties"].items()}
        return keys | others
    kinds = [_keys(each, known, definitions) for each in schema.get("oneOf", [])]
    if kinds and all(isinstance(kind, dict) for kind in kinds):
        return {key: keys for kind in kinds for key, keys in kind.items()}
    if "items" in schema:
        items = _keys(schema["items"], known, definitions)
        return None if items is None else [items]
    return schema.get("type") if schema.get("type") in _SCALARS else None


def _is_structure(keys: object) -> bool:
    return isinstance(keys, dict | list)
