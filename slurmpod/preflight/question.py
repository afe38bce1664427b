"""The class of queries, and their common functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight.names import Named
from slurmpod.resolve import Resolved

Fact = TypeVar("Fact", covariant=True)


def _always(_: Resolved) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Question(Generic[Fact]):
    """A query: its subject, IAM actions, function, and the environments that need it.

    `ask` raises the SDK's errors, or AwsUnavailable; its return type is that of the saved fact,
    `field`. `clients` are the attributes of `AwsClients` that it uses: creating them is not
    thread-safe, using them is. A query about named resources has `named` instead of `when`; its
    fact is a mapping of these names.
    """

    field: str
    subject: str
    actions: tuple[str, ...]
    clients: tuple[str, ...]
    ask: Callable[[AwsClients, Resolved], Fact | None]
    when: Callable[[Resolved], bool] = _always
    named: Callable[[Resolved], Named] | None = None

    def names(self, resolved: Resolved) -> Named:
        """Return the names in an environment that are queried; empty for other queries."""
        return self.named(resolved) if self.named else {}

    def concerns(self, resolved: Resolved) -> bool:
        """Return whether an environment needs the query."""
        return bool(self.names(resolved)) if self.named else self.when(resolved)


def all_of(client: Any, operation: str, member: str) -> list[Any]:
    """Return the items of all pages of an operation."""
    return [each for page in client.get_paginator(operation).paginate() for each in page[member]]
