"""The one error type of the embedded services, which the wire turns into an AWS error answer."""

from __future__ import annotations


class ServiceError(Exception):
    """An API call was refused: `code` as the AWS SDKs know it, and a message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def validation_error(message: str) -> ServiceError:
    """Return CloudFormation's error for everything wrong with a request."""
    return ServiceError("ValidationError", message)
