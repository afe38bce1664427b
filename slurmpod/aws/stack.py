"""A stack that an account has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Stack:
    """A CloudFormation stack: its status, why it failed (empty if it did not), and its outputs.

    `changed` is when its last creation or update began, in ISO 8601.
    """

    name: str
    status: str
    failure: str
    outputs: Mapping[str, str]
    changed: str = ""
