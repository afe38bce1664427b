"""The web application of the embedded AWS: moto's services and our own behind one port."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)

from embedded_aws.answers import Seal, unsupported
from embedded_aws.calls import call_of, signature_of
from embedded_aws.data_channels import DataChannels
from embedded_aws.enforcement.gate import Gate
from embedded_aws.functions.invoke import IS_AWAITED
from embedded_aws.interface import Workspaces
from embedded_aws.moto_ids import seed_request
from embedded_aws.moto_setup import ACCOUNT_HEADER
from embedded_aws.wire import Service, service_app

if TYPE_CHECKING:
    from flask import Flask

Wsgi = Any
"""A WSGI application."""

_OURS = (
    ("cloudcontrol", re.compile(r"https?://cloudcontrolapi\.(.+)\.amazonaws\.com")),
    ("grafana", re.compile(r"https?://grafana\.(.+)\.amazonaws\.com")),
    ("service-quotas", re.compile(r"https?://servicequotas\.(.+)\.amazonaws\.com")),
)
"""Embedded services that moto lacks or names differently, and their addresses."""

_INVOCATION = re.compile(r"/2015-03-31/functions/[^/]+/invocations")

_log = logging.getLogger(__name__)


class QuietRequestHandler(MotoRequestHandler):
    """moto's request handler without a line on stderr for every request."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        """Write nothing."""


def application(
    account: str,
    services: Iterable[Service],
    gate: Gate,
    channels: DataChannels,
    workspaces: Workspaces | None = None,
) -> Wsgi:
    """Return the application that serves `account`; `gate` authorizes each request.

    `channels` answer the requests of sessions, which are unsigned. `workspaces` are asked before
    the services, because their APIs are not AWS APIs.

    moto is not thread-safe, so its services answer one request at a time. The embedded services do
    their own locking, because they call moto's services while they answer.
    """
    embedded = {service.name: service_app(service) for service in services}
    one_at_a_time = threading.Lock()

    def create_app(service: Any) -> Flask:
        if service in embedded:
            return embedded[service]
        return cast("Flask", _serialized(service, one_at_a_time))

    dispatcher = _Dispatcher(create_app)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        environ[ACCOUNT_HEADER] = account
        signature = signature_of(environ)
        channel = channels.answer(environ, start_response) if signature is None else None
        if channel is not None:
            return channel
        call = call_of(environ, signature)
        seal = Seal(call, start_response)
        refusal = gate.refusal(signature, call)
        if refusal:
            return seal.close(refusal.give(seal.start))
        try:
            found = workspaces.answer(environ, seal.start) if workspaces else None
            return seal.close(dispatcher(environ, seal.start) if found is None else found)
        except Exception as error:  # noqa: BLE001 - a server answers whatever happens
            if not isinstance(error, NotImplementedError):
                _log.exception("internal error of a service of moto")
            return seal.close(unsupported(call, error).give(seal.start))

    return answer


class _Dispatcher(DomainDispatcherApplication):
    """moto's lookup of the service for a host, cached: moto searches its folders each time."""

    def __init__(self, create_app: Callable[[Any], Flask]) -> None:
        super().__init__(create_app)
        self.backend_url_patterns = [*_OURS, *self.backend_url_patterns]
        self._services: dict[str, Any] = {}

    def get_backend_for_host(self, host: Any) -> Any:
        """Return the service for a host."""
        if host not in self._services:
            self._services[host] = super().get_backend_for_host(host)
        return self._services[host]


def _serialized(service: Any, lock: threading.Lock) -> Wsgi:
    app = create_backend_app(service)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        if service == "awslambda" and _INVOCATION.fullmatch(environ["PATH_INFO"]):
            # a function calls the other services while it runs, so they must not wait for it
            is_awaited = IS_AWAITED.set(True)
            try:
                return list(app(environ, start_response))
            finally:
                IS_AWAITED.reset(is_awaited)
        with lock:
            seed_request(service, environ)
            return list(app(environ, start_response))

    return answer
