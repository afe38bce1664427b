"""The shape of a question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.resolve import Resolved

Ask = Callable[[AwsClients, Resolved], Any]


def _always(_: Resolved) -> bool:
    return True


@dataclass(frozen=True)
class Question:
    """One field of `Facts`: what is asked, by which IAM actions, how, and for which environments.

    `ask` raises the SDK's errors, or AwsUnavailable. `clients` are the attributes of `AwsClients`
    that it uses: making them is not thread-safe, using them is.
    """

    field: str
    subject: str
    actions: tuple[str, ...]
    clients: tuple[str, ...]
    ask: Ask
    concerns: Callable[[Resolved], bool] = _always
