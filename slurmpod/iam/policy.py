"""A policy document as JSON has it -> its statements, or all that is wrong with its form.

Source: IAM user guide, "Grammar of the IAM JSON policy language".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slurmpod.iam.grammar import VERSION_WITH_VARIABLES, as_list, faults

if TYPE_CHECKING:
    from collections.abc import Mapping


class NotAPolicy(Exception):
    """A document is no IAM policy; the text says all that is wrong with it."""


@dataclass(frozen=True)
class Condition:
    """One line of a Condition element: an operator, a key, the values of which one must fit."""

    operator: str
    key: str
    values: tuple[str, ...]


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
    """The statements of a document; `name` is how decisions speak of it."""

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
    """Return what an earlier version means: there `${` is text like any other."""
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
