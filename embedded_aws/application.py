"""The web application of the embedded AWS: moto's services and our own behind one port."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast
from xml.sax.saxutils import escape

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)

from embedded_aws.enforcement.gate import Denial, Gate
from embedded_aws.interface import Workspaces
from embedded_aws.moto_ids import seed_request
from embedded_aws.moto_setup import ACCOUNT_HEADER
from embedded_aws.wire import Service, service_app

if TYPE_CHECKING:
    from flask import Flask

Wsgi = Any
"""A WSGI application; its types say nothing."""

_CODE = "UnsupportedOperation"
_XML_ERROR = (
    f"<Response><Errors><Error><Code>{_CODE}</Code><Message>{{}}</Message></Error></Errors>"
    "</Response>"
)
_UNKNOWN_TO_MOTO = ("cloudcontrol", re.compile(r"https?://cloudcontrolapi\.(.+)\.amazonaws\.com"))
"""An embedded service that moto does not have, and its address."""

_log = logging.getLogger(__name__)


class QuietRequestHandler(MotoRequestHandler):
    """moto's request handler without a line on stderr for every request."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        """Write nothing."""


def application(
    account: str,
    services: Iterable[Service],
    gate: Gate,
    workspaces: Workspaces | None = None,
) -> Wsgi:
    """Return the application that answers for `account` to whom `gate` lets in.

    `workspaces` are asked first: what they answer is no service of AWS's kind.

    moto is not made for threads: its services answer one request at a time. The embedded services
    lock for themselves, because they use moto's while they answer.
    """
    embedded = {service.name: service_app(service) for service in services}
    one_at_a_time = threading.Lock()

    def create_app(service: Any) -> Flask:
        if service in embedded:
            return embedded[service]
        return cast("Flask", _serialized(service, one_at_a_time))

    dispatcher = _Dispatcher(create_app)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        environ[ACCOUNT_HEADER] = account
        try:
            denial = gate.refusal(environ)
            if denial:
                return _denied(denial, start_response)
            answered = workspaces.answer(environ, start_response) if workspaces else None
            return dispatcher(environ, start_response) if answered is None else answered
        except Exception as error:  # noqa: BLE001 - a server answers whatever happens
            if not isinstance(error, NotImplementedError):
                _log.exception("internal error of a service of moto")
            return _refusal(error, environ, start_response)

    return answer


class _Dispatcher(DomainDispatcherApplication):
    """moto's choice of the service for a host, made once: moto looks through its folders."""

    def __init__(self, create_app: Callable[[Any], Flask]) -> None:
        super().__init__(create_app)
        self.backend_url_patterns = [*self.backend_url_patterns, _UNKNOWN_TO_MOTO]
        self._services: dict[str, Any] = {}

    def get_backend_for_host(self, host: Any) -> Any:
        """Return the service that answers at a host."""
        if host not in self._services:
            self._services[host] = super().get_backend_for_host(host)
        return self._services[host]


def _serialized(service: Any, lock: threading.Lock) -> Wsgi:
    app = create_backend_app(service)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        with lock:
            seed_request(service, environ)
            return list(app(environ, start_response))

    return answer


def _denied(denial: Denial, start_response: Callable[..., Any]) -> list[bytes]:
    headers = [
        ("Content-Type", denial.content_type),
        ("Content-Length", str(len(denial.body))),
        ("x-amzn-ErrorType", denial.error),
    ]
    start_response(denial.status, headers)
    return [denial.body]


def _refusal(
    error: Exception, environ: dict[str, Any], start_response: Callable[..., Any]
) -> list[bytes]:
    """Answer what moto cannot with a status that SDKs do not retry, in the form they can read."""
    message = f"Not supported by the embedded AWS: {error}"
    if str(environ.get("CONTENT_TYPE")).startswith("application/x-www-form-urlencoded"):
        kind, body = "text/xml", _XML_ERROR.format(escape(message))
    else:
        kind, body = "application/json", json.dumps({"__type": _CODE, "message": message})
    content = body.encode()
    headers = [("Content-Type", kind), ("Content-Length", str(len(content)))]
    start_response("501 Not Implemented", headers)
    return [content]
