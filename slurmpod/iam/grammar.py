"""The grammar of IAM policies: what a document may look like.

Source: IAM user guide, "Grammar of the IAM JSON policy language".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slurmpod.iam.conditions import is_operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    Place = tuple[str | int, ...]

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


def faults(document: Any) -> Iterator[tuple[Place, str]]:
    """Yield where a document breaks the grammar of policies, and how."""
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


def _statement_faults(entry: Any) -> Iterator[tuple[Place, str]]:
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


def _action_faults(entry: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    if ("Action" in entry) == ("NotAction" in entry):
        yield (), "a statement has either Action or NotAction"
    for key in ("Action", "NotAction"):
        for action in as_list(entry.get(key, [])):
            if not isinstance(action, str) or not _ACTION.fullmatch(action):
                yield (key,), f"{action!r} is no action: one is written service:Action"


def _resource_faults(entry: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    named = ("Resource" in entry) + ("NotResource" in entry)
    is_of_a_resource = "Principal" in entry or "NotPrincipal" in entry
    if named > 1 or (not named and not is_of_a_resource):
        yield (), "a statement has either Resource or NotResource"
    for key in ("Resource", "NotResource"):
        if not all(isinstance(resource, str) for resource in as_list(entry.get(key, []))):
            yield (key,), "is a text or a list of texts"


def _condition_faults(block: Any) -> Iterator[tuple[Place, str]]:
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
    """Return a list of what may be written as one value or as several."""
    return value if isinstance(value, list) else [value]
