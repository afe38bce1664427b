"""How AWS refuses: status, headers and body, in the form of the call's protocol.

Sources: Smithy specifications of the AWS protocols; API references ("Common Errors", S3's and
EC2's error codes).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.enforcement.calls import Call

REQUEST_ID = "00000000-0000-0000-0000-000000000000"
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_EC2_PREAMBLE = "You are not authorized to perform this operation. "


@dataclass(frozen=True)
class Denial:
    """An answer to a request that is refused."""

    status: str
    content_type: str
    error: str
    body: bytes


def access_denied(call: Call, message: str) -> Denial:
    """Return the answer to a call that policies do not allow."""
    if call.service == "ec2":
        return _denial(call, "403 Forbidden", "UnauthorizedOperation", _EC2_PREAMBLE + message)
    if call.protocol in ("json", "rest-json"):
        status = "400 Bad Request" if call.protocol == "json" else "403 Forbidden"
        return _denial(call, status, "AccessDeniedException", message)
    code = "AuthorizationError" if call.service == "sns" else "AccessDenied"
    return _denial(call, "403 Forbidden", code, message)


def unknown_credentials(call: Call) -> Denial:
    """Return the answer to a call with credentials that nobody has."""
    if call.service == "s3":
        message = "The AWS Access Key Id you provided does not exist in our records."
        return _denial(call, "403 Forbidden", "InvalidAccessKeyId", message)
    message = "The security token included in the request is invalid."
    if call.service == "ec2":
        message = "AWS was not able to validate the provided access credentials"
        return _denial(call, "401 Unauthorized", "AuthFailure", message)
    if call.protocol in ("json", "rest-json"):
        return _denial(call, "400 Bad Request", "UnrecognizedClientException", message)
    return _denial(call, "403 Forbidden", "InvalidClientTokenId", message)


def unsigned() -> Denial:
    """Return the answer to a request that nobody signed: nothing here is open to all."""
    code, message = "AccessDenied", "Access Denied"
    return Denial("403 Forbidden", "application/xml", code, _s3_error(code, message))


def _denial(call: Call, status: str, code: str, message: str) -> Denial:
    if call.protocol in ("json", "rest-json"):
        body = json.dumps({"__type": code, "message": message, "Message": message}).encode()
        return Denial(status, "application/x-amz-json-1.1", code, body)
    if call.method == "HEAD":
        return Denial(status, "application/xml", code, b"")
    if call.service == "s3":
        return Denial(status, "application/xml", code, _s3_error(code, message))
    error = f"<Code>{code}</Code><Message>{escape(message)}</Message>"
    if call.service == "ec2":
        text = f"<Response><Errors><Error>{error}</Error></Errors>"
        text += f"<RequestID>{REQUEST_ID}</RequestID></Response>"
    else:
        text = f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error>"
        text += f"<RequestId>{REQUEST_ID}</RequestId></ErrorResponse>"
    return Denial(status, "text/xml", code, (_XML + text).encode())


def _s3_error(code: str, message: str) -> bytes:
    error = f"<Code>{code}</Code><Message>{escape(message)}</Message>"
    text = f"<Error>{error}<RequestId>{REQUEST_ID}</RequestId><HostId>rehearsal</HostId></Error>"
    return (_XML + text).encode()
