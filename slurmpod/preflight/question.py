"""The shape of a question, and what questions share."""

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
    """What is asked, by which IAM actions, how, and for which environments.

    `ask` raises the SDK's errors, or AwsUnavailable; the type that it returns is that in which the
    fact is saved, as `field`. `clients` are the attributes of `AwsClients` that it uses: making
    them is not thread-safe, using them is. A question about what environments name has `named`
    instead of `when`; its fact is a mapping of these names.
    """

    field: str
    subject: str
    actions: tuple[str, ...]
    clients: tuple[str, ...]
    ask: Callable[[AwsClients, Resolved], Fact | None]
    when: Callable[[Resolved], bool] = _always
    named: Callable[[Resolved], Named] | None = None

    def names(self, resolved: Resolved) -> Named:
        """Return what an environment names that is asked about; empty for other questions."""
        return self.named(resolved) if self.named else {}

    def concerns(self, resolved: Resolved) -> bool:
        """Return whether an environment is to be asked about."""
        return bool(self.names(resolved)) if self.named else self.when(resolved)


def all_of(client: Any, operation: str, member: str) -> list[Any]:
    """Return what all pages of an operation list."""
    return [each for page in client.get_paginator(operation).paginate() for each in page[member]]
