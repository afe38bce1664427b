"""AWS's resource schemas: properties with their types, and changes that replace a resource.

`tools.resource_schemas` generates their table, for the types that the embedded AWS supports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Final

from embedded_aws.templates.intrinsics import as_text, function_name
from embedded_aws.templates.template import TemplateError

Path = tuple[str, ...]
"""The path to a property, such as ("LustreConfiguration", "DeploymentType")."""

_ANY: Final = "*"
"""The key that represents any further keys."""

_NO_SCHEMA: Final[Mapping[str, Any]] = {
    "create_only": (),
    "identifiers": (),
    "properties": None,
    "definitions": {},
}
"""The schema of a type that is unsupported or not from AWS."""


def changed_properties(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the properties that differ."""
    return tuple(sorted(k for k in {*old, *new} if old.get(k) != new.get(k)))


def differs_at(old: Mapping[str, Any], new: Mapping[str, Any], paths: tuple[Path, ...]) -> bool:
    """Return whether any of the properties at `paths` differs."""
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


def property_names(resource_type: str) -> Collection[str]:
    """Return the properties of an AWS type, nothing for other types."""
    return _schema(resource_type)["properties"] or ()


def extraneous_keys(resource_type: str, properties: Mapping[str, Any]) -> list[str]:
    """Return CloudFormation's messages about keys, at any depth, that the type does not have.

    `properties` may still contain functions; their results are not checked. Types that are not from
    AWS have no schema.
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
    """Yield the extraneous parts of `value`; `tools.resource_schemas` explains `keys`."""
    keys = _named(keys, schema)
    if isinstance(value, list) and isinstance(keys, list):
        for number, item in enumerate(value):
            yield from _extraneous(keys[0], item, schema, f"{where}/{number}")
    if not isinstance(value, dict) or function_name(value) or not isinstance(keys, dict):
        return
    for key in value:
        if key in keys:
            yield from _extraneous(keys[key], value[key], schema, f"{where}/{key}")
        elif _ANY not in keys:
            yield f"{where}: extraneous key [{key}] is not permitted{did_you_mean(key, keys)}"


def coerced(resource_type: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return resolved properties with scalars converted to the types in the schema.

    Raises TemplateError, with CloudFormation's message, for text that is not a number. Unknown
    values and dynamic references stay unchanged.
    """
    schema = _schema(resource_type)
    value: dict[str, Any] = _coerced(schema["properties"], properties, schema, "#")
    return value


def _coerced(keys: Any, value: Any, schema: Mapping[str, Any], where: str) -> Any:
    keys = _named(keys, schema)
    if isinstance(value, list):
        item = keys[0] if isinstance(keys, list) else None
        return [_coerced(item, each, schema, f"{where}/{n}") for n, each in enumerate(value)]
    if isinstance(value, dict):
        members = keys if isinstance(keys, dict) else {}
        return {k: _coerced(members.get(k), v, schema, f"{where}/{k}") for k, v in value.items()}
    if not isinstance(keys, str) or (isinstance(value, str) and "{{" in value):
        return value
    try:
        return _READERS[keys](value)
    except (KeyError, ValueError) as error:
        raise TemplateError(
            f"Properties validation failed with message: {where}: expected type: "
            f"{keys.capitalize()}, found: {value!r}"
        ) from error


def _integer(value: Any) -> int:
    return value if isinstance(value, int) else int(str(value))


def _number(value: Any) -> float:
    if isinstance(value, int | float):
        return value
    return float(value) if "." in value else int(value)


def _boolean(value: Any) -> bool:
    return {"true": True, "false": False}[as_text(value).lower()]


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "string": as_text,
}
"""Conversions of template values to the scalar types."""


def did_you_mean(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return a suggestion if a name is similar to a known one, else an empty text."""
    close = get_close_matches(name, sorted(known), n=1, cutoff=likeness)
    return f" (did you mean {close[0]}?)" if close else ""


def _named(keys: Any, schema: Mapping[str, Any]) -> Any:
    """Return the keys, looked up if they are the name of a definition."""
    return schema["definitions"].get(keys, keys) if isinstance(keys, str) else keys


def _value(properties: Mapping[str, Any], path: Path) -> Any:
    value: Any = properties
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
