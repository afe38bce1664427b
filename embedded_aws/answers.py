"""Responses that no service produces, in the protocol's format; request ids of all responses.

Sources: Smithy specifications of the AWS protocols; API references ("Common Errors", S3's and EC2's
error codes, "Troubleshooting" of S3 for its two ids).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from embedded_aws.calls import Call
from embedded_aws.ids import ids

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_EC2_PREAMBLE = "You are not authorized to perform this operation. "
_NO_ID = "request-id"
"""Placeholder for the request id in XML until the response is sent; moto uses the same text."""


@dataclass(frozen=True)
class Answer:
    """A response to a request that does not reach any service."""

    status: str
    content_type: str
    error: str
    body: bytes

    def give(self, start_response: Callable[..., Any]) -> list[bytes]:
        """Answer a WSGI request."""
        headers = [
            ("Content-Type", self.content_type),
            ("Content-Length", str(len(self.body))),
            ("x-amzn-ErrorType", self.error),
        ]
        start_response(self.status, headers)
        return [self.body]


def access_denied(call: Call, message: str) -> Answer:
    """Return the response to a call that policies do not allow."""
    if call.service == "ec2":
        return _error(call, "403 Forbidden", "UnauthorizedOperation", _EC2_PREAMBLE + message)
    if call.protocol in ("json", "rest-json"):
        status = "400 Bad Request" if call.protocol == "json" else "403 Forbidden"
        return _error(call, status, "AccessDeniedException", message)
    code = "AuthorizationError" if call.service == "sns" else "AccessDenied"
    return _error(call, "403 Forbidden", code, message)


def unknown_credentials(call: Call) -> Answer:
    """Return the response to a call with unknown credentials."""
    if call.service == "s3":
        message = "The AWS Access Key Id you provided does not exist in our records."
        return _error(call, "403 Forbidden", "InvalidAccessKeyId", message)
    message = "The security token included in the request is invalid."
    if call.service == "ec2":
        message = "AWS was not able to validate the provided access credentials"
        return _error(call, "401 Unauthorized", "AuthFailure", message)
    if call.protocol in ("json", "rest-json"):
        return _error(call, "400 Bad Request", "UnrecognizedClientException", message)
    return _error(call, "403 Forbidden", "InvalidClientTokenId", message)


def unsigned() -> Answer:
    """Return the response to an unsigned request: nothing here is public."""
    code, message = "AccessDenied", "Access Denied"
    return Answer("403 Forbidden", "application/xml", code, _s3_error(code, message))


def flawed(call: Call) -> Answer:
    """Return the response to a malformed call."""
    assert call.flaw is not None  # noqa: S101 - the caller has checked
    return _error(call, "400 Bad Request", call.flaw.code, call.flaw.message)


def unsupported(call: Call, reason: object) -> Answer:
    """Return the response to an unsupported call, with a status that SDKs do not retry."""
    what = f"{call.operation or call.method} of {call.service}"
    message = f"Not supported by the embedded AWS: {what}: {reason}"
    return _error(call, "501 Not Implemented", "UnsupportedOperation", message)


def _error(call: Call, status: str, code: str, message: str) -> Answer:
    if call.protocol in ("json", "rest-json"):
        body = json.dumps({"__type": code, "message": message, "Message": message}).encode()
        return Answer(status, "application/x-amz-json-1.1", code, body)
    if call.method == "HEAD":
        return Answer(status, "application/xml", code, b"")
    if call.service == "s3":
        return Answer(status, "application/xml", code, _s3_error(code, message))
    error = f"<Code>{code}</Code><Message>{escape(message)}</Message>"
    if call.service == "ec2":
        text = f"<Response><Errors><Error>{error}</Error></Errors>"
        text += f"<RequestID>{_NO_ID}</RequestID></Response>"
    else:
        text = f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error>"
        text += f"<RequestId>{_NO_ID}</RequestId></ErrorResponse>"
    return Answer(status, "text/xml", code, (_XML + text).encode())


def _s3_error(code: str, message: str) -> bytes:
    error = f"<Code>{code}</Code><Message>{escape(message)}</Message>"
    text = f"<Error>{error}<RequestId>{_NO_ID}</RequestId><HostId>rehearsal</HostId></Error>"
    return (_XML + text).encode()


_ID_IN_XML = re.compile(rb"(<RequestI[dD]>|<requestId>)[^<]*(?=</[Rr]equestI[dD]>)")
_CONTENT_TYPES = {"json": "application/x-amz-json-1.1", "rest-json": "application/json"}
_PAGE = b"<!doctype html"
_FIRST_ERROR = 400

Headers = list[tuple[str, str]]


class Seal:
    """Sets the protocol's content type and the request id on the response to a call.

    moto returns some responses as text/html, answers unknown operations with a web page, and sets
    request ids for some services only.
    """

    def __init__(self, call: Call, start_response: Callable[..., Any]) -> None:
        self._call = call
        self._start_response = start_response
        self._id = ids.uuid("request")
        self._status = ""
        self._headers: Headers = []

    def start(self, status: str, headers: Headers, *_: Any) -> None:
        """Keep the WSGI status and headers until the body is known."""
        self._status, self._headers = status, headers

    def close(self, parts: Iterable[bytes]) -> list[bytes]:
        """Send the response with this body."""
        body = b"".join(parts)
        if body[: len(_PAGE)].lower() == _PAGE and self._is_error() and self._call.service != "s3":
            (body,) = unsupported(self._call, "no such operation").give(self.start)
        if self._is_error() or self._call.service != "s3":
            body = _ID_IN_XML.sub(rb"\g<1>" + self._id.encode(), body)
        self._start_response(self._status, [*self._kept(len(body)), *self._ids()])
        return [body]

    def _is_error(self) -> bool:
        return int(self._status[:3]) >= _FIRST_ERROR

    def _kept(self, length: int) -> Headers:
        """Return the original headers with the length, type and ids corrected."""
        ours = {"x-amzn-requestid", "x-amz-request-id"}
        if self._call.method != "HEAD":
            ours.add("content-length")
        kept = [(n, self._typed(n, v)) for n, v in self._headers if n.lower() not in ours]
        return kept if self._call.method == "HEAD" else [*kept, ("Content-Length", str(length))]

    def _typed(self, name: str, value: str) -> str:
        is_page = name.lower() == "content-type" and value.startswith("text/html")
        if not is_page or (self._call.service == "s3" and not self._is_error()):
            return value
        return _CONTENT_TYPES.get(self._call.protocol, "text/xml")

    def _ids(self) -> Headers:
        if self._call.service == "s3":
            return [("x-amz-request-id", self._id), ("x-amz-id-2", self._id)]
        return [("x-amzn-RequestId", self._id)]
