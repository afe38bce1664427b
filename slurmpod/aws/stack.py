"""A deployed stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Stack:
    """A CloudFormation stack: its status, failure reason (empty if none) and outputs.

    `changed` is when its last creation or update began, in ISO 8601.
    """

    name: str
    status: str
    failure: str
    outputs: Mapping[str, str]
    changed: str = ""
