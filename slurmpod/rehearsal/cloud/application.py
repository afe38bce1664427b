"""The web application of the embedded AWS: moto's services and our own behind one port."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any, cast
from xml.sax.saxutils import escape

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)

from slurmpod.rehearsal.cloud.moto_setup import ACCOUNT_HEADER
from slurmpod.rehearsal.cloud.wire import Service, service_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flask import Flask

Wsgi = Any
"""A WSGI application; its types say nothing."""

_CODE = "UnsupportedOperation"
_XML_ERROR = (
    f"<Response><Errors><Error><Code>{_CODE}</Code><Message>{{}}</Message></Error></Errors>"
    "</Response>"
)
_log = logging.getLogger(__name__)


class QuietRequestHandler(MotoRequestHandler):
    """moto's request handler without a line on stderr for every request."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        """Write nothing."""


def application(account: str, services: Iterable[Service]) -> Wsgi:
    """Return the application that answers for `account`, whoever asks.

    moto is not made for threads: its services answer one request at a time. The embedded services
    lock for themselves, because they use moto's while they answer.
    """
    embedded = {service.name: service_app(service) for service in services}
    one_at_a_time = threading.Lock()

    def create_app(service: Any) -> Flask:
        if service in embedded:
            return embedded[service]
        return cast("Flask", _serialized(create_backend_app(service), one_at_a_time))

    dispatcher = DomainDispatcherApplication(create_app)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        environ[ACCOUNT_HEADER] = account
        try:
            return dispatcher(environ, start_response)
        except Exception as error:  # noqa: BLE001 - a server answers whatever happens
            if not isinstance(error, NotImplementedError):
                _log.exception("internal error of a service of moto")
            return _refusal(error, environ, start_response)

    return answer


def _serialized(app: Wsgi, lock: threading.Lock) -> Wsgi:
    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        with lock:
            return list(app(environ, start_response))

    return answer


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
