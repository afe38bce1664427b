"""Failures of AWS requests as one exception with a readable message."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError

from embedded_aws.errors import suppressed
from slurmpod.problems import WorkFailed

__all__ = ["DENIALS", "AwsUnavailable", "as_unavailable", "code_of", "denied_into", "suppressed"]

DENIALS = (
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "UnauthorizedOperation",
    "403",
)
"""Error codes for missing permissions."""


class AwsUnavailable(WorkFailed):
    """AWS could not be reached or refused: no credentials, no network, no permission."""


@contextlib.contextmanager
def as_unavailable(what: str) -> Iterator[None]:
    """Turn every error of the SDK into AwsUnavailable; `what` names the attempted action."""
    try:
        yield
    except ClientError as error:
        details = error.response["Error"]
        reason = f"{details.get('Code', '')}: {details.get('Message', '')}"
        raise AwsUnavailable(f"cannot {what}: {reason}") from error
    except BotoCoreError as error:
        raise AwsUnavailable(f"cannot {what}: {error}") from error


def code_of(failure: AwsUnavailable) -> str:
    """Return the error code of AWS; empty if AWS was not reached."""
    cause = failure.__cause__
    return str(cause.response["Error"].get("Code", "")) if isinstance(cause, ClientError) else ""


@contextlib.contextmanager
def denied_into(refused: list[str], action: str) -> Iterator[None]:
    """Suppress access-denied errors and record the denied action."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"].get("Code") not in DENIALS:
            raise
        refused.append(action)
