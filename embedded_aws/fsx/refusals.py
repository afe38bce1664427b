"""Refusals of FSx: each rule yields errors, and all are reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from embedded_aws.errors import ServiceError, summary, violations


def bad_request(message: str) -> ServiceError:
    """Return FSx's error for most invalid requests."""
    return ServiceError("BadRequest", message)


def check_model(operation: str, request: Mapping[str, Any]) -> None:
    """Raise BadRequest for violations of the API model."""
    problems = violations("fsx", operation, request)
    if problems:
        raise bad_request(summary(problems))


def raise_all(errors: Iterable[ServiceError]) -> None:
    """Raise the errors as one, with the code of the first, if there are any."""
    found = list(errors)
    if found:
        raise ServiceError(found[0].code, "; ".join(error.message for error in found))
