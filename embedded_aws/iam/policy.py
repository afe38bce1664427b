"""A policy document parsed from JSON -> its statements, or all faults in its form.

Source: IAM user guide, "Grammar of the IAM JSON policy language".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from embedded_aws.iam.conditions import Condition, is_operator


class NotAPolicy(Exception):
    """A document is not an IAM policy; the text lists all faults."""


@dataclass(frozen=True)
class Statement:
    """One statement. Of a pair such as `actions` and `not_actions`, one is None.

    `principals` go by kind (`AWS`, `Service`, ...); None in identity-based policies.
    """

    sid: str
    allows: bool
    actions: tuple[str, ...] | None
    not_actions: tuple[str, ...] | None
    resources: tuple[str, ...] | None
    not_resources: tuple[str, ...] | None
    conditions: tuple[Condition, ...]
    principals: Mapping[str, tuple[str, ...]] | None
    not_principals: Mapping[str, tuple[str, ...]] | None


@dataclass(frozen=True)
class Policy:
    """The statements of a document; `name` identifies it in decisions."""

    name: str
    statements: tuple[Statement, ...]


def policy_of(name: str, document: Any) -> Policy:
    """Read a document.

    Raises:
        NotAPolicy: It has a fault.
    """
    found = [
        f"{'.'.join(map(str, place)) or 'document'}: {fault}" for place, fault in faults(document)
    ]
    if found:
        raise NotAPolicy(f"{name} is no IAM policy: {'; '.join(found)}")
    entries = as_list(document["Statement"])
    if document.get("Version") != VERSION_WITH_VARIABLES:
        entries = _without_variables(entries)
    statements = (_statement(entry, number) for number, entry in enumerate(entries, start=1))
    return Policy(name, tuple(statements))


def _without_variables(value: Any) -> Any:
    """Return the value as earlier versions read it: without variables, `${` is plain text."""
    if isinstance(value, str):
        return value.replace("${", "${$}{")
    if isinstance(value, list):
        return [_without_variables(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _without_variables(entry) for key, entry in value.items()}
    return value


def _statement(entry: dict[str, Any], number: int) -> Statement:
    return Statement(
        sid=str(entry.get("Sid") or f"number {number}"),
        allows=entry["Effect"] == "Allow",
        actions=_texts(entry, "Action"),
        not_actions=_texts(entry, "NotAction"),
        resources=_texts(entry, "Resource"),
        not_resources=_texts(entry, "NotResource"),
        conditions=tuple(
            Condition(operator, key, tuple(map(_text, as_list(values))))
            for operator, keys in entry.get("Condition", {}).items()
            for key, values in keys.items()
        ),
        principals=_principals(entry, "Principal"),
        not_principals=_principals(entry, "NotPrincipal"),
    )


def _principals(entry: dict[str, Any], key: str) -> dict[str, tuple[str, ...]] | None:
    named = entry.get(key)
    if named is None:
        return None
    if isinstance(named, str):
        return {"AWS": (named,)}
    return {kind: tuple(map(_text, as_list(names))) for kind, names in named.items()}


def _texts(entry: dict[str, Any], key: str) -> tuple[str, ...] | None:
    return tuple(map(_text, as_list(entry[key]))) if key in entry else None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


DocumentPath = tuple[str | int, ...]

VERSION_WITH_VARIABLES = "2012-10-17"
VERSIONS = (VERSION_WITH_VARIABLES, "2008-10-17")
ELEMENTS = (
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
)
_ACTION = re.compile(r"\*|[A-Za-z0-9*?-]+:[A-Za-z0-9*?]+")


def faults(document: Any) -> Iterator[tuple[DocumentPath, str]]:
    """Yield the place and description of each fault in a document."""
    if not isinstance(document, dict):
        yield (), "a policy is an object with Version and Statement"
        return
    if document.get("Version", VERSIONS[-1]) not in VERSIONS:
        yield ("Version",), f"is one of {', '.join(VERSIONS)}"
    for key in document:
        if key not in ("Version", "Id", "Statement"):
            yield (key,), "a policy has no such element; known: Version, Id, Statement"
    if "Statement" not in document:
        yield (), "a policy has a Statement"
        return
    for number, entry in enumerate(as_list(document["Statement"])):
        for place, fault in _statement_faults(entry):
            yield ("Statement", number, *place), fault


def _statement_faults(entry: Any) -> Iterator[tuple[DocumentPath, str]]:
    if not isinstance(entry, dict):
        yield (), "a statement is an object"
        return
    for key in entry:
        if key not in ELEMENTS:
            yield (key,), f"a statement has no such element; known: {', '.join(ELEMENTS)}"
    if entry.get("Effect") not in ("Allow", "Deny"):
        yield ("Effect",), "is Allow or Deny"
    yield from _action_faults(entry)
    yield from _resource_faults(entry)
    yield from _condition_faults(entry.get("Condition", {}))


def _action_faults(entry: dict[str, Any]) -> Iterator[tuple[DocumentPath, str]]:
    if ("Action" in entry) == ("NotAction" in entry):
        yield (), "a statement has either Action or NotAction"
    for key in ("Action", "NotAction"):
        for action in as_list(entry.get(key, [])):
            if not isinstance(action, str) or not _ACTION.fullmatch(action):
                yield (key,), f"{action!r} is no action: one is written service:Action"


def _resource_faults(entry: dict[str, Any]) -> Iterator[tuple[DocumentPath, str]]:
    named = ("Resource" in entry) + ("NotResource" in entry)
    is_of_a_resource = "Principal" in entry or "NotPrincipal" in entry
    if named > 1 or (not named and not is_of_a_resource):
        yield (), "a statement has either Resource or NotResource"
    for key in ("Resource", "NotResource"):
        if not all(isinstance(resource, str) for resource in as_list(entry.get(key, []))):
            yield (key,), "is a text or a list of texts"


def _condition_faults(block: Any) -> Iterator[tuple[DocumentPath, str]]:
    if not isinstance(block, dict):
        yield ("Condition",), "is an object of operators"
        return
    for operator, keys in block.items():
        if not is_operator(operator):
            yield ("Condition", operator), "IAM knows no such operator"
        if not isinstance(keys, dict):
            yield ("Condition", operator), "is an object of condition keys"
            continue
        for key, values in keys.items():
            if not all(isinstance(value, str | bool | int | float) for value in as_list(values)):
                yield ("Condition", operator, key), "is a text or a list of texts"


def as_list(value: Any) -> list[Any]:
    """Return a list from a single value or a list."""
    return value if isinstance(value, list) else [value]
