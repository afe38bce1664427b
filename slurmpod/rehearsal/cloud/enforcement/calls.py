"""A request on the wire -> the API operation that it calls, with its input.

moto finds the operation by botocore's models, as it does for its own services. What these lack is
known here: an operation that has no model is called by the path.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import UnknownServiceError
from moto.core.parse import PROTOCOL_PARSERS, RequestParserError
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model
from werkzeug.exceptions import NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.enforcement.signature import Signature

_MODELS = {"aps": "amp", "monitoring": "cloudwatch", "eventbridge": "events"}
"""Services that botocore has under another name than the one in signatures."""

_PREFIXES = {"monitoring": "cloudwatch", "eventbridge": "events"}
"""Services that policies have under another name than the one in signatures."""

_PATHS = {
    ("aps", re.compile(r"/workspaces/(?P<workspaceId>[^/]+)/api/v1/remote_write")): "RemoteWrite",
    ("aps", re.compile(r"/workspaces/(?P<workspaceId>[^/]+)/api/v1/query")): "QueryMetrics",
}
"""Operations of Prometheus' own API in Amazon Managed Service for Prometheus (its user guide)."""


@dataclass(frozen=True)
class Call:
    """An API call. `service` is as in policies, `operation` empty where nobody knows it.

    `protocol` is botocore's name for the form of request and answer; `method` is HTTP's.
    """

    service: str
    operation: str
    region: str
    protocol: str
    method: str
    given: Mapping[str, Any]


def call_of(environ: dict[str, Any], signature: Signature) -> Call:
    """Read a WSGI request; whoever answers it can read its body again."""
    body = _body(environ)
    request = Request({**environ, "wsgi.input": io.BytesIO(body)})
    protocol, operation, given = _by_model(request, signature.service)
    if not operation:
        operation, given = _by_path(signature.service, request.path)
    return Call(
        service=_PREFIXES.get(signature.service, signature.service),
        operation=operation,
        region=signature.region,
        protocol=protocol,
        method=request.method,
        given=given,
    )


def _body(environ: dict[str, Any]) -> bytes:
    if environ.get("wsgi.input_terminated"):
        body = environ["wsgi.input"].read()
    else:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    return bytes(body)


def _by_model(request: Request, service: str) -> tuple[str, str, Mapping[str, Any]]:
    """Return protocol, operation and input; nothing for what botocore does not know."""
    name = _MODELS.get(service, service)
    try:
        model = get_service_model(name)
        protocol = determine_request_protocol(model, request.content_type)
        operation, labels = get_service_router(name).match(request)
        given = PROTOCOL_PARSERS[protocol](operation).parse(
            {
                "method": request.method,
                "values": request.values,
                "headers": request.headers,
                "body": request.data,
                "url_path": request.path,
                "url_params": labels,
            }
        )
    except (UnknownServiceError, NotFound, NotImplementedError, RequestParserError):
        return "json", "", {}
    return protocol, str(operation.name), given


def _by_path(service: str, path: str) -> tuple[str, Mapping[str, Any]]:
    for (owner, pattern), operation in _PATHS.items():
        match = pattern.fullmatch(path)
        if owner == service and match:
            return operation, match.groupdict()
    return "", {}
