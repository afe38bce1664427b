"""AWS's own resource schemas: properties with their types, and changes that replace a resource.

`tools.resource_schemas` makes the table of them, for the types that the embedded AWS supports.
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
"""The way to a property, such as ("LustreConfiguration", "DeploymentType")."""

_ANY: Final = "*"
"""The key that stands for any further keys."""

_NO_SCHEMA: Final[Mapping[str, Any]] = {
    "create_only": (),
    "identifiers": (),
    "properties": None,
    "definitions": {},
}
"""What is known of a type that is not AWS's own, or not supported."""


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
    """Return the properties that AWS's own types have, nothing for other types."""
    return _schema(resource_type)["properties"] or ()


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
    """Return resolved properties with numbers, booleans and texts as the type has them.

    Raises TemplateError, with CloudFormation's words, for a text that is no number. What is not
    known yet, and what is to be read from a store, stays as it is.
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
"""Values of the scalar types, from what templates have in their place."""


def did_you_mean(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the question after a name that is nearly another, nothing for any other name."""
    close = get_close_matches(name, sorted(known), n=1, cutoff=likeness)
    return f" (did you mean {close[0]}?)" if close else ""


def _named(keys: Any, schema: Mapping[str, Any]) -> Any:
    """Return the keys themselves, if they are given by the name of a definition."""
    return schema["definitions"].get(keys, keys) if isinstance(keys, str) else keys


def _value(properties: Mapping[str, Any], path: Path) -> Any:
    value: Any = properties
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
