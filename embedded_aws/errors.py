"""Errors: that of the embedded services, which `wire` turns into an answer, and botocore's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from botocore.exceptions import ClientError


class ServiceError(Exception):
    """An API call was refused: `code` as the AWS SDKs know it, and a message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def validation_error(message: str) -> ServiceError:
    """Return CloudFormation's error for everything wrong with a request."""
    return ServiceError("ValidationError", message)


@contextlib.contextmanager
def suppressed(*codes: str) -> Iterator[None]:
    """Go on after a service's error of one of these codes, such as what is gone already.

    By code, because two threads that ask a client for its exceptions at once get two classes of
    the same name, of which the client raises one (botocore's client.exceptions).
    """
    try:
        yield
    except ClientError as error:
        if error.response["Error"].get("Code") not in codes:
            raise
