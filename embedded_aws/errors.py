"""Errors of the embedded services, which `wire` turns into responses, and those of botocore.

SDKs check required members and types of a request. The services check the other constraints of the
API model and report them in the format of `summary`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.exceptions import ClientError

from embedded_aws import service_model

_OUTDATED_LIMITS = {"fsx": {"ThroughputCapacityMbps": {"min": 1000}}}
"""Limits of shapes that contradict the same model's documentation: 1000 and 2000 MB/s are valid
for Intelligent-Tiering (botocore 1.44.8), but the minimum in the model is still 4000."""


class ServiceError(Exception):
    """An API call was refused, with the error code of the AWS SDKs and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def validation_error(message: str) -> ServiceError:
    """Return CloudFormation's error for an invalid request."""
    return ServiceError("ValidationError", message)


@contextlib.contextmanager
def suppressed(*codes: str) -> Iterator[None]:
    """Suppress errors with these codes, such as that a resource already exists or is gone.

    By code, because two threads that access a client's exceptions at once get two classes with
    the same name, of which the client raises one (botocore's client.exceptions).
    """
    try:
        yield
    except ClientError as error:
        if error.response["Error"].get("Code") not in codes:
            raise


def violations(service: str, operation: str, given: Mapping[str, Any]) -> list[str]:
    """Return the violations in the input of an operation, one sentence each."""
    model = _model(service)
    input_shape = model["operations"][operation].get("input")
    if input_shape is None:
        return []
    shapes = _with_limits_of_today(service, model["shapes"])
    found = service_model.violations(shapes, input_shape["shape"], given)
    return [sentence(violation) for violation in found]


def summary(problems: list[str]) -> str:
    """Return the violations in one sentence, in AWS's format."""
    noun = "error" if len(problems) == 1 else "errors"
    return f"{len(problems)} validation {noun} detected: {'; '.join(problems)}"


def members(service: str, operation: str, *path: str) -> frozenset[str]:
    """Return the members of an operation's input, or of a structure in its input."""
    model = _model(service)
    shapes, shape = model["shapes"], model["operations"][operation]["input"]["shape"]
    for name in path:
        shape = shapes[shape]["members"][name]["shape"]
    return frozenset(shapes[shape]["members"])


def sentence(violation: service_model.Violation) -> str:
    """Return one violation in AWS's format."""
    shown = "null" if violation.value is None else f"'{violation.value}'"
    where = ".".join(map(_spelled, violation.path))
    return f"Value {shown} at '{where}' failed to satisfy constraint: {violation.constraint}"


@cache
def _model(service: str) -> Any:
    loader = botocore.session.get_session().get_component("data_loader")
    return loader.load_service_model(service, "service-2")


def _with_limits_of_today(service: str, shapes: Mapping[str, Any]) -> dict[str, Any]:
    newer = _OUTDATED_LIMITS.get(service, {})
    return {**shapes, **{name: {**shapes[name], **limits} for name, limits in newer.items()}}


def _spelled(part: str | int) -> str:
    """Spell a part of a path as the services do: `instanceGroups.1.member.instanceType`."""
    return f"{part + 1}.member" if isinstance(part, int) else part[0].lower() + part[1:]
