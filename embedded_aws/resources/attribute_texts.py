"""Attributes as SNS and SQS take them: every value a text, structures and booleans as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def texts(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Write all values as texts."""
    return {name: text(value) for name, value in attributes.items()}


def text(value: Any) -> str:
    """Write one value as a text."""
    return value if isinstance(value, str) else json.dumps(value)
