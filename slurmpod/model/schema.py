"""The JSON Schema of an environment file, with which editors complete, explain and check it."""

from __future__ import annotations

from typing import Any

from slurmpod.model.descriptions import all_sections, descriptions
from slurmpod.model.environment import Environment


def environment_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `Environment`, every field with its description."""
    schema = Environment.model_json_schema()
    sections = {"Environment": schema, **schema.get("$defs", {})}
    for section in all_sections():
        described = sections[section.__name__]
        described["description"] = " ".join((section.__doc__ or "").split("\n\n")[0].split())
        for name, text in descriptions(section).items():
            described["properties"][name]["description"] = text
    for definition in sections.values():
        _drop_titles(definition)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _drop_titles(definition: dict[str, Any]) -> None:
    """Remove the titles that pydantic makes of names: editors would show each name twice."""
    definition.pop("title", None)
    for field in definition.get("properties", {}).values():
        field.pop("title", None)
