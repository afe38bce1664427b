"""The extract of an API model that slurmpod ships: the shapes of one request.

`make golden` writes slurmpod/data/create_cluster_shape.json with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def shapes_of(shapes: Mapping[str, Any], root: str) -> dict[str, Any]:
    """Return every shape reachable from `root`, by name, without documentation."""
    wanted: dict[str, Any] = {}
    needed = [root]
    while needed:
        name = needed.pop()
        if name not in wanted:
            wanted[name] = _without_documentation(shapes[name])
            needed += _references(shapes[name])
    return {name: wanted[name] for name in sorted(wanted)}


def written(shapes: Mapping[str, Any]) -> str:
    """Return shapes as JSON, one per line."""
    lines = (f"{json.dumps(name)}: {json.dumps(shape)}" for name, shape in shapes.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _without_documentation(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kept = sorted(value.keys() - {"documentation"})
    return {key: _without_documentation(value[key]) for key in kept}


def _references(shape: Mapping[str, Any]) -> list[str]:
    """Return the names of the shapes that a shape refers to."""
    parts = list(shape.get("members", {}).values())
    parts += [shape[key] for key in ("member", "key", "value") if key in shape]
    return [part["shape"] for part in parts]
