"""The names that a template's values refer to by Ref, Fn::GetAtt and Fn::Sub. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_PLACEHOLDER: Final = re.compile(r"\$\{([^!{}.]+)[^{}]*\}")


def references(value: Any) -> Iterator[str]:
    """Yield the names of resources and parameters, including pseudo parameters."""
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _called_names(key, item)
            yield from references(item)


def _called_names(key: str, argument: Any) -> Iterator[str]:
    if key == "Ref" and isinstance(argument, str):
        yield argument
    elif key == "Fn::GetAtt":
        yield argument.split(".")[0] if isinstance(argument, str) else argument[0]
    elif key == "Fn::Sub":
        text, own = argument if isinstance(argument, list) else (argument, {})
        yield from {name.strip() for name in _PLACEHOLDER.findall(text)} - own.keys()
