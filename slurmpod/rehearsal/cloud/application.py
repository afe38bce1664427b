"""The web application of the embedded AWS: moto's services and the embedded ones behind one port."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, cast

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
        except NotImplementedError as error:
            return _refusal(str(error), start_response)

    return answer


def _serialized(app: Wsgi, lock: threading.Lock) -> Wsgi:
    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        with lock:
            return list(app(environ, start_response))

    return answer


def _refusal(message: str, start_response: Callable[..., Any]) -> list[bytes]:
    """Answer in a form that SDKs do not retry and from which all of them show the message."""
    text = f"{message} in the embedded AWS"
    body = json.dumps({"__type": "UnsupportedOperation", "message": text}).encode()
    start_response(
        "501 Not Implemented",
        [("Content-Type", "application/json"), ("Content-Length", str(len(body)))],
    )
    return [body]
