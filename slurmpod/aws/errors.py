"""Failures of questions to AWS, as one exception with a text for people."""

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
"""The codes with which services say that the caller may not."""


class AwsUnavailable(WorkFailed):
    """AWS could not be asked, or refused to answer: no credentials, no network, no permission."""


@contextlib.contextmanager
def as_unavailable(what: str) -> Iterator[None]:
    """Turn every error of the SDK into AwsUnavailable; `what` says what was being done."""
    try:
        yield
    except ClientError as error:
        details = error.response["Error"]
        reason = f"{details.get('Code', '')}: {details.get('Message', '')}"
        raise AwsUnavailable(f"cannot {what}: {reason}") from error
    except BotoCoreError as error:
        raise AwsUnavailable(f"cannot {what}: {error}") from error


def code_of(failure: AwsUnavailable) -> str:
    """Return AWS's code of why it refused; empty where it was not reached."""
    cause = failure.__cause__
    return str(cause.response["Error"].get("Code", "")) if isinstance(cause, ClientError) else ""


@contextlib.contextmanager
def denied_into(refused: list[str], action: str) -> Iterator[None]:
    """Go on where the caller may not do something, and note the action that was refused."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"].get("Code") not in DENIALS:
            raise
        refused.append(action)
