"""The JSON Schema of an environment file, for completion, help and checks in editors.

A complete environment has a `name` and all other required keys. A file that `extends` another, or
is a base without a `name`, is checked against partial sections: without required keys, and with
`null` and `remove` as in `merge`.
"""

from __future__ import annotations

from typing import Any

from slurmpod.environment.descriptions import all_sections, descriptions
from slurmpod.environment.environment import Environment
from slurmpod.reading.extends import EXTENDS
from slurmpod.reading.merge import NAMES, REMOVE

TOP = Environment.__name__
DEFINITIONS = "#/$defs/"
PART = "Part"
"""Suffix of the definitions of partial sections."""

FIELDS = ("properties", "patternProperties")
NULL = {"type": "null"}

EXTENDS_FIELD = {
    "type": "string",
    "minLength": 1,
    "description": "File that this one extends: a path relative to this file's folder.",
}
REMOVE_FIELD = {
    "const": True,
    "description": "Remove this entry of the extended file.",
}


def environment_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an environment file, every field described."""
    sections = _described_sections()
    parts = {name + PART: _part(section) for name, section in sections.items()}
    for part in parts.values():
        if not part.get("properties", {}).keys().isdisjoint(NAMES):
            part["properties"][REMOVE] = REMOVE_FIELD
    del parts[TOP + PART]["properties"][REMOVE]
    for definition in (sections[TOP], parts[TOP + PART]):
        definition["properties"][EXTENDS] = EXTENDS_FIELD
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": sections[TOP]["description"],
        "if": {"required": ["name"], "not": {"required": [EXTENDS]}},
        "then": {"$ref": DEFINITIONS + TOP},
        "else": {"$ref": DEFINITIONS + TOP + PART},
        "$defs": {**sections, **parts},
    }


def _described_sections() -> dict[str, dict[str, Any]]:
    """Return the definitions of all sections and of the types that they use, by name."""
    schema = Environment.model_json_schema()
    sections = {**schema.pop("$defs"), TOP: schema}
    for section in all_sections():
        described = sections[section.__name__]
        described["description"] = " ".join((section.__doc__ or "").split("\n\n")[0].split())
        for name, text in descriptions(section).items():
            described["properties"][name]["description"] = text
    for definition in sections.values():
        _drop_titles(definition)
    return sections


def _drop_titles(definition: dict[str, Any]) -> None:
    """Remove the titles that pydantic derives from names: editors would show each name twice."""
    definition.pop("title", None)
    for field in definition.get("properties", {}).values():
        field.pop("title", None)


def _part(schema: Any) -> Any:
    """Return a schema without required keys that accepts `null` for every key."""
    if isinstance(schema, list):
        return [_part(item) for item in schema]
    if isinstance(schema, str):
        return schema + PART if schema.startswith(DEFINITIONS) else schema
    if not isinstance(schema, dict):
        return schema
    part = {key: _part(value) for key, value in schema.items() if key not in ("required", *FIELDS)}
    for key in FIELDS:
        if key in schema:
            part[key] = {name: _or_null(_part(field)) for name, field in schema[key].items()}
    others = part.get("additionalProperties")
    return {**part, "additionalProperties": _or_null(others)} if others else part


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    nullable = NULL in schema.get("anyOf", ())
    return schema if nullable else {"anyOf": [schema, NULL]}
