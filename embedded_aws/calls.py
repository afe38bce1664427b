"""Requests on the wire parsed into API calls: signer, operation, input and what is malformed.

Signatures are not verified. moto finds the operation by botocore's models, as it does for its own
services. Operations that the models lack are listed here and found by their path.
Sources: AWS Signature Version 4 (IAM user guide, "Create a signed AWS API request").
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from botocore.exceptions import UnknownServiceError
from moto.core.model import OperationModel
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model
from werkzeug.exceptions import NotFound

from embedded_aws.malformed import Malformed, missing, unknown_operation, unreadable, wrong_types

_SCOPE_PARTS = 5


@dataclass(frozen=True)
class Signature:
    """The signer that a request names; `token` is the session token, empty for users."""

    access_key_id: str
    token: str
    region: str
    service: str


def signature_of(environ: Mapping[str, str]) -> Signature | None:
    """Return a WSGI request's signature, from a header or a presigned URL; None if unsigned."""
    scope = _in_header(environ.get("HTTP_AUTHORIZATION", ""))
    token = environ.get("HTTP_X_AMZ_SECURITY_TOKEN", "")
    if not scope:
        query = parse_qs(environ.get("QUERY_STRING", ""))
        scope = query.get("X-Amz-Credential", [""])[0]
        token = query.get("X-Amz-Security-Token", [""])[0]
    parts = scope.split("/")
    if len(parts) != _SCOPE_PARTS:
        return None
    access_key_id, _, region, service, _ = parts
    return Signature(access_key_id, token, region, service.lower())


def _in_header(authorization: str) -> str:
    """Return the credential scope: `<key id>/<date>/<region>/<service>/aws4_request`."""
    for part in authorization.replace(",", " ").split():
        name, _, value = part.partition("=")
        if name == "Credential":
            return value
    return ""


_MODELS = {
    "aps": "amp",
    "cloudcontrolapi": "cloudcontrol",
    "eventbridge": "events",
    "monitoring": "cloudwatch",
    "servicequotas": "service-quotas",
}
"""Services whose name in botocore differs from the one in signatures."""

_PREFIXES = {
    "cloudcontrolapi": "cloudformation",
    "eventbridge": "events",
    "monitoring": "cloudwatch",
}
"""Services whose name in policies differs from the one in signatures."""

_PATHS = {
    ("aps", re.compile(r"/workspaces/(?P<workspaceId>[^/]+)/api/v1/remote_write")): "RemoteWrite",
    ("aps", re.compile(r"/workspaces/(?P<workspaceId>[^/]+)/api/v1/query")): "QueryMetrics",
}
"""Operations of the Prometheus API in Amazon Managed Service for Prometheus (its user guide)."""


@dataclass(frozen=True)
class Call:
    """An API call. `service` is named as in policies; `operation` is empty if unknown.

    `protocol` is botocore's name for the wire format; `method` is the HTTP method.
    """

    service: str
    operation: str
    region: str
    protocol: str
    method: str
    given: Mapping[str, Any]
    flaw: Malformed | None = None
    """Why the call is malformed, if it is; `given` is empty then."""


_OF_NOBODY = Signature("", "", "", "s3")
"""The signature assumed for unsigned requests: only S3 buckets can be public."""


def call_of(environ: dict[str, Any], signature: Signature | None) -> Call:
    """Parse a WSGI request; its body can be read again afterwards."""
    signature = signature or _OF_NOBODY
    body = body_of(environ)
    request = Request({**environ, "wsgi.input": io.BytesIO(body)})
    protocol, operation, given, flaw = _by_model(request, signature.service)
    if not operation:
        operation, given = _by_path(signature.service, request.path)
    return Call(
        service=_PREFIXES.get(signature.service, signature.service),
        operation=operation,
        region=signature.region,
        protocol=protocol,
        method=request.method,
        given=given,
        flaw=flaw,
    )


def body_of(environ: dict[str, Any]) -> bytes:
    """Return the body of a WSGI request, and leave it readable."""
    if environ.get("wsgi.input_terminated"):
        body = environ["wsgi.input"].read()
    else:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    return bytes(body)


def _by_model(
    request: Request, service: str
) -> tuple[str, str, Mapping[str, Any], Malformed | None]:
    """Return protocol, operation, input and flaw; all empty for services that botocore lacks."""
    name = _MODELS.get(service, service)
    try:
        model = get_service_model(name)
        protocol = determine_request_protocol(model, request.content_type)
    except (UnknownServiceError, NotImplementedError):
        return "json", "", {}, None
    if protocol not in PROTOCOL_PARSERS:
        return protocol, "", {}, None
    try:
        operation, labels = get_service_router(name).match(request)
    except NotFound:
        return protocol, "", {}, unknown_operation(protocol, _named(request, protocol))
    flaw = wrong_types(operation, protocol, request.data)
    if flaw:
        return protocol, str(operation.name), {}, flaw
    try:
        given = _parsed(operation, protocol, request, labels)
    except Exception:  # noqa: BLE001 - moto's readers raise whatever Python does
        return protocol, str(operation.name), {}, unreadable(name, protocol)
    return protocol, str(operation.name), given, missing(operation, protocol, given)


def _named(request: Request, protocol: str) -> str:
    """Return the name of the operation in a request whose operation is not in the model."""
    if protocol == "json":
        return str(request.headers.get("X-Amz-Target", "")).rpartition(".")[2]
    return str(request.values.get("Action", ""))


def _parsed(
    operation: OperationModel, protocol: str, request: Request, labels: dict[str, Any]
) -> Mapping[str, Any]:
    parsed: Mapping[str, Any] = PROTOCOL_PARSERS[protocol](operation).parse(
        {
            "method": request.method,
            "values": request.values,
            "headers": request.headers,
            "body": request.data,
            "url_path": request.path,
            "url_params": labels,
        }
    )
    return parsed


def _by_path(service: str, path: str) -> tuple[str, Mapping[str, Any]]:
    for (owner, pattern), operation in _PATHS.items():
        match = pattern.fullmatch(path)
        if owner == service and match:
            return operation, match.groupdict()
    return "", {}
