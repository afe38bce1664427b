"""Pydantic's findings in slurmpod's words: the mistake, the allowed values, the fix.

Pydantic's texts use Python's terms; users write YAML. The mistake depends on the kind of finding
and has a phrase here; the fix depends on the field and comes from `descriptions`. A test ensures
that every kind of our models has a phrase.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Interface
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from slurmpod.environment.descriptions import (
    KEY,
    choices_of,
    description_of,
    example_of,
    expectation,
    field_at,
    limit,
    section_at,
    section_in,
    type_of,
)
from slurmpod.environment.environment import Environment
from slurmpod.environment.network import LARGEST_VPC_PREFIX, SMALLEST_VPC_PREFIX
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Problem, Severity, YamlPath
from slurmpod.reading.extends import EXTENDS
from slurmpod.reading.secrets_in_text import (
    FOUND,
    HIDDEN,
    HIDDEN_VALUE,
    REMOVE,
    holds_private_key,
    may_be_secret,
)
from slurmpod.reading.yaml_source import LONGEST_NUMBER, YamlSource

_ALIAS = re.compile(r"(^|:)alias/")
"""Prefix of a key's alias, alone or in an ARN."""

WRONG = {
    "bool_type": "is neither true nor false",
    "dict_type": "is not a mapping (key: value)",
    "enum": "is not one of the choices",
    "float_type": "is not a number",
    "greater_than_equal": "is too small",
    "int_parsing_size": "is too large",
    "int_type": "is not a whole number",
    "less_than_equal": "is too large",
    "literal_error": "is not one of the choices",
    "model_type": "is not a mapping (key: value)",
    "not_of_the_form": "is not one of the choices",
    "string_pattern_mismatch": "does not have the right form",
    "string_too_long": "is too long",
    "string_too_short": "is too short",
    "string_type": "is not text",
    "too_long": "has too many entries",
    "too_short": "has too few entries",
    "tuple_type": "is not a list",
    "value_error": "is not an IPv4 range",
    "vpc_size": f"is not of a size from /{LARGEST_VPC_PREFIX} to /{SMALLEST_VPC_PREFIX}",
}
"""The mistake in a value, by pydantic's kind of finding (only IPv4 causes value errors)."""


def phrase(
    detail: ErrorDetails, source: YamlSource, root: type[BaseModel] = Environment
) -> Problem:
    """Return the problem for a finding of pydantic in `source`, which has the model `root`."""
    path = detail["loc"]
    if detail["type"] == "missing":
        return _missing(path, source, root)
    if detail["type"] == "extra_forbidden":
        return _unknown_key(path, source, root)
    return _wrong_value(path, detail, source, root)


def show(value: Any) -> str:
    """Format a value for messages: on one line, short, and never a private key."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if not isinstance(value, str):
        return _bare(value)
    if holds_private_key(value):
        return HIDDEN
    text = value if value.isprintable() else ascii(value)[1:-1]
    return f"'{text[:60]}...'" if len(text) > 63 else f"'{text}'"


def _missing(path: YamlPath, source: YamlSource, root: type[BaseModel]) -> Problem:
    key = path[-1]
    field = field_at(path, root)
    fix = _what_to_add(key, field) + _about(path, root)
    return Problem("ENV-002", Severity.ERROR, source.where(path), f"'{key}' is missing here", fix)


def _what_to_add(key: str | int, field: FieldInfo | None) -> str:
    """Return the key to add, without guessing among several choices."""
    if field and choices_of(field):
        return f"add '{key}', {expectation(field)}"
    example = example_of(field) if field else ""
    return f"add '{key}: {example}'" if example else f"add '{key}:' with its settings"


def _unknown_key(path: YamlPath, source: YamlSource, root: type[BaseModel]) -> Problem:
    key = str(path[-1])
    section = section_at(path[:-1], root)
    known = list(section.model_fields) if section else []
    if len(path) == 1 and root is Environment:
        known.append(EXTENDS)
    where = source.where(path, key=True)
    above = path[:-1]
    allowed = [each for each in known if not _stands_in(where.file, (*above, each), source)]
    fix = _with_blank(key, known) or did_you_mean(key, allowed)
    fix = fix or (f"allowed here: {', '.join(allowed)}" if allowed else "remove it")
    return Problem("ENV-003", Severity.ERROR, where, f"unknown key {show(key)}", fix)


def _stands_in(file: str, key: YamlPath, source: YamlSource) -> bool:
    """Return whether a key of its base or extensions is written in this file."""
    return key in source.keys and source.where(key, key=True).file == file


def _with_blank(text: str, keys: Iterable[str]) -> str:
    """Return the fix for a missing space in `count:2`, which YAML reads as one word."""
    key, colon, value = text.partition(":")
    return (
        f"write a space after the colon: {key}: {value}".rstrip() if key in keys and colon else ""
    )


def _wrong_value(
    path: YamlPath, detail: ErrorDetails, source: YamlSource, root: type[BaseModel]
) -> Problem:
    is_key = path[-1:] == (KEY,)
    field = field_at((*path[:-2], KEY) if is_key else path, root)
    place = path[:-1] if is_key else path
    value = detail["input"]
    where = source.where(_shown_place(place, detail), key=is_key)
    if isinstance(value, str) and holds_private_key(value):
        return Problem("ENV-004", Severity.ERROR, where, FOUND, REMOVE)
    wrong = WRONG.get(detail["type"], "is not valid here")
    hidden = may_be_secret(place, value, takes_arn=_takes_arn(field))
    shown = HIDDEN_VALUE if hidden else show(value)
    message = "the value is missing" if value is None else f"{shown} {wrong}{_how_many(detail)}"
    fix = (_what_to_write(detail["type"], value, field) if field else "change it") + _about(
        place, root
    )
    return Problem("ENV-004", Severity.ERROR, where, message, fix)


def _shown_place(path: YamlPath, detail: ErrorDetails) -> YamlPath:
    """Return the first surplus entry of a list or mapping that is too long; otherwise the value."""
    if detail["type"] != "too_long":
        return path
    most, entries = detail["ctx"]["max_length"], detail["input"]
    return (*path, list(entries)[most] if isinstance(entries, dict) else most)


def _how_many(detail: ErrorDetails) -> str:
    if detail["type"] != "too_long":
        return ""
    return f": this is the first of {len(detail['input']) - detail['ctx']['max_length']} too many"


def _takes_arn(field: FieldInfo | None) -> bool:
    return field is not None and str(limit(field, "pattern") or "").startswith("^arn:")


def _what_to_write(kind: str, value: Any, field: FieldInfo) -> str:
    if value is None and not field.is_required():
        return f"write {expectation(field)}, or remove the key"
    if kind == "string_type" and _fits_in_quotes(value, field):
        return f'write it in quotes: "{_bare(value)}"'
    if kind in ("int_type", "literal_error") and _fits_without_quotes(value, field):
        return f"write it without quotes: {value}"
    if kind == "value_error" and (range_around := _range_around(value)):
        return f"begin the range at its first address: {range_around}"
    if kind == "vpc_size":
        return f"write a range of that size, such as {example_of(field)}"
    if isinstance(value, str) and (slip := _slip_in_text(kind, value, field)):
        return slip
    guess = did_you_mean(str(value), map(str, choices_of(field)))
    return " ".join(filter(None, (guess, f"write {expectation(field)}")))


def _slip_in_text(kind: str, value: str, field: FieldInfo) -> str:
    """Return the fix for a known slip; nothing for other texts."""
    section = section_in(field)
    if kind == "model_type" and section:
        return _with_blank(value, section.model_fields)
    if kind != "string_pattern_mismatch":
        return ""
    if _ALIAS.search(value) and ":kms:" in str(limit(field, "pattern")):
        return "this is an alias: write the ARN of its key, as 'aws kms describe-key' shows it"
    return "write it without the slash at the end" if _fits_without_slash(value, field) else ""


def _fits_in_quotes(value: Any, field: FieldInfo) -> bool:
    if not isinstance(value, bool | int) or type_of(field) is not str:
        return False
    return bool(re.search(limit(field, "pattern") or "", _bare(value)))


def _fits_without_quotes(value: Any, field: FieldInfo) -> bool:
    if not (isinstance(value, str) and value.isascii() and value.isdigit()):
        return False
    if len(value) > LONGEST_NUMBER:
        return False
    choices = choices_of(field)
    least, most = limit(field, "ge") or 0, limit(field, "le") or 10**LONGEST_NUMBER
    return int(value) in choices if choices else least <= int(value) <= most


def _fits_without_slash(value: str, field: FieldInfo) -> bool:
    """Return whether only a trailing slash is wrong: a folder has one spelling."""
    bare = value.removesuffix("/")
    return bare != value and bool(re.search(limit(field, "pattern") or "", bare))


def _range_around(value: Any) -> str:
    """Return the range that contains an address such as 10.0.0.1/16; empty for other texts."""
    try:
        return str(IPv4Interface(value).network)
    except ValueError:
        return ""


def _about(path: YamlPath, root: type[BaseModel]) -> str:
    about = description_of(path, root)
    return f" ({about.rstrip('.')})" if about else ""


def _bare(value: bool | int) -> str:
    return str(value).lower()
