"""The constraints of an API's own model, answered as AWS words them.

SDKs check required members and types; the services check the rest, with these words.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import botocore.session

from embedded_aws import service_model


def violations(service: str, operation: str, given: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the input of an operation, one sentence per violation."""
    model = _model(service)
    input_shape = model["operations"][operation].get("input")
    if input_shape is None:
        return []
    found = service_model.violations(model["shapes"], input_shape["shape"], given)
    return [_sentence(violation) for violation in found]


def summary(problems: list[str]) -> str:
    """Return violations in one sentence, as AWS answers them."""
    noun = "error" if len(problems) == 1 else "errors"
    return f"{len(problems)} validation {noun} detected: {'; '.join(problems)}"


def members(service: str, operation: str, *path: str) -> frozenset[str]:
    """Return the names that an operation takes as input, or those of a structure in its input."""
    model = _model(service)
    shapes, shape = model["shapes"], model["operations"][operation]["input"]["shape"]
    for name in path:
        shape = shapes[shape]["members"][name]["shape"]
    return frozenset(shapes[shape]["members"])


@cache
def _model(service: str) -> Any:
    loader = botocore.session.get_session().get_component("data_loader")
    return loader.load_service_model(service, "service-2")


def _sentence(violation: service_model.Violation) -> str:
    shown = "null" if violation.value is None else f"'{violation.value}'"
    where = ".".join(map(_spelled, violation.path))
    return f"Value {shown} at '{where}' failed to satisfy constraint: {violation.constraint}"


def _spelled(part: str | int) -> str:
    """Spell a part of a path as the services do: `instanceGroups.1.member.instanceType`."""
    return f"{part + 1}.member" if isinstance(part, int) else part[0].lower() + part[1:]
