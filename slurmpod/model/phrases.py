"""Pydantic's findings in words of this project: what is wrong, what is allowed, what to do.

The texts of pydantic speak of Python; a user wrote YAML. Each kind of finding has one phrase here,
and a test holds that every kind that our models can cause has one.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from slurmpod.model.descriptions import description_of, section_at
from slurmpod.problems import Problem, Severity

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from slurmpod.model.yaml_source import YamlSource
    from slurmpod.problems import YamlPath

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "list_type": "a list",
    "tuple_type": "a list",
    "ip_v4_network": "an IPv4 range such as 10.0.0.0/16, with no bits set after the prefix",
}


def phrase(detail: ErrorDetails, source: YamlSource) -> Problem:
    """Return the problem for one finding of pydantic in `source`."""
    path = tuple(part for part in detail["loc"] if part != "[key]")
    kind = detail["type"]
    if kind == "missing":
        return _missing(path, source)
    if kind == "extra_forbidden":
        return _unknown_key(path, source)
    message, fix = _wrong_value(detail)
    about = description_of(path)
    return _error("ENV-004", path, source, message, f"{fix}; {_in_words(about)}" if about else fix)


def _missing(path: YamlPath, source: YamlSource) -> Problem:
    about = description_of(path)
    fix = f"add '{path[-1]}: ...'" + (f"; {_in_words(about)}" if about else "")
    return _error("ENV-002", path, source, f"'{path[-1]}' is missing", fix)


def _unknown_key(path: YamlPath, source: YamlSource) -> Problem:
    key = str(path[-1])
    section = section_at(path[:-1])
    allowed = sorted(section.model_fields) if section else []
    near = difflib.get_close_matches(key, allowed, n=1)
    fix = f"did you mean '{near[0]}'?" if near else f"allowed here: {', '.join(allowed)}"
    where = source.where(path, key=True)
    return Problem("ENV-003", Severity.ERROR, where, f"unknown key '{key}'", fix)


def _wrong_value(detail: ErrorDetails) -> tuple[str, str]:
    """Return what is wrong with a value and what to write instead."""
    kind, value = detail["type"], detail["input"]
    limits: dict[str, Any] = detail.get("ctx", {})
    if kind in _EXPECTED:
        hint = " (quote it)" if kind == "string_type" and not isinstance(value, dict | list) else ""
        return f"{_show(value)} is not {_EXPECTED[kind]}", f"write {_EXPECTED[kind]}{hint}"
    if kind in ("literal_error", "enum"):
        allowed = str(limits["expected"]).replace(" or ", ", ")
        near = difflib.get_close_matches(str(value), allowed.replace("'", "").split(", "), n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        return f"{_show(value)} is not allowed", f"{hint}allowed: {allowed}"
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = f"at least {limits['ge']}" if "ge" in limits else f"at most {limits['le']}"
        return f"{_show(value)} is out of range", f"write {bound}"
    if kind == "string_pattern_mismatch":
        return f"{_show(value)} does not have the right form", f"match {limits['pattern']}"
    if kind in ("string_too_long", "too_long"):
        actual = limits.get("actual_length") or len(str(value))
        return f"{_show(value)} is too long ({actual})", f"at most {limits['max_length']}"
    if kind in ("string_too_short", "too_short"):
        return f"{_show(value)} is too short", f"at least {limits['min_length']}"
    return f"{_show(value)} is not valid here: {detail['msg']}", "change the value"


def _error(rule: str, path: YamlPath, source: YamlSource, message: str, fix: str) -> Problem:
    return Problem(rule, Severity.ERROR, source.where(path), message, fix)


def _in_words(description: str) -> str:
    return description[0].lower() + description[1:].rstrip(".")


def _show(value: Any) -> str:
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = str(value)
    return f"'{text[:60]}...'" if len(text) > 63 else f"'{text}'"
