"""Failures of questions to AWS, as one exception with a text for people."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError


class AwsUnavailable(Exception):
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


@contextlib.contextmanager
def suppressed(*codes: str) -> Iterator[None]:
    """Go on after an error of one of these codes, such as what is there already when it is created.

    By code, because two threads that ask a client for its exceptions at once get two classes of
    the same name, of which the client raises one (botocore's client.exceptions).
    """
    try:
        yield
    except ClientError as error:
        if error.response["Error"].get("Code") not in codes:
            raise
