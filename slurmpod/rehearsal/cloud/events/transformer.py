"""Input transformers: an event in, the text for the target out. Pure.

Source: EventBridge user guide, "Amazon EventBridge input transformation": a variable whose path
leads nowhere disappears from the output; a template of text keeps its quotation marks.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLE = re.compile(r"<([A-Za-z0-9_.-]+)>")


def transformed(transformer: Mapping[str, Any] | None, event: Mapping[str, Any]) -> str:
    """Return what the target gets; without a transformer, the whole event as JSON."""
    if transformer is None:
        return json.dumps(event)
    values = {name: _at(event, path) for name, path in transformer.get("InputPathsMap", {}).items()}
    template = str(transformer["InputTemplate"])
    return _VARIABLE.sub(lambda match: _text(values.get(match[1])), template)


def _at(event: Mapping[str, Any], path: str) -> Any:
    """Return what a path such as $.detail.ClusterName leads to, None where it leads nowhere."""
    value: Any = event
    for key in path.removeprefix("$").strip(".").split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
