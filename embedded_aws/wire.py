"""AWS's wire formats for embedded services: moto parses and serializes by botocore's models.

An unsupported operation is refused by name instead of being answered partially.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from botocore.exceptions import ClientError, ParamValidationError
from flask import Flask
from moto.core.responses import ActionResult, BaseResponse
from moto.core.utils import convert_to_flask_response
from moto.moto_server.werkzeug_app import BackendRequest

from embedded_aws.errors import ServiceError

_log = logging.getLogger(__name__)

Operation = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None]
"""An API operation: (region, input in the API's shape) -> output in the API's shape."""


class Service(Protocol):
    """A service that answers API calls; `name` is botocore's name."""

    @property
    def name(self) -> str:
        """The service's name in botocore."""

    @property
    def refusal(self) -> str:
        """The service's error code for invalid requests."""

    @property
    def operations(self) -> Mapping[str, Operation]:
        """The service's operations, by their API names."""


def service_app(service: Service) -> Flask:
    """Return the WSGI application that serves one service."""
    app = Flask(f"embedded-{service.name}")
    app.request_class = BackendRequest

    def respond(request: Any, url: str, headers: Any) -> Any:
        response = _Response(service)
        response.setup_class(request, url, headers)
        return response.call_action()

    view = convert_to_flask_response(respond)
    for rule in ("/", "/<path:_>"):  # JSON protocols have one path, REST has many
        app.add_url_rule(rule, view_func=view, methods=["DELETE", "GET", "PATCH", "POST", "PUT"])
    return app


class _Response(BaseResponse):
    def __init__(self, service: Service) -> None:
        super().__init__(service_name=service.name)
        self.automated_parameter_parsing = True
        self._service = service

    def call_action(self) -> Any:
        try:
            result: Any = self._answer()
        except ServiceError as error:
            result = error
        except (ClientError, ParamValidationError) as error:
            result = ServiceError(self._service.refusal, str(error))
        except Exception as error:  # noqa: BLE001 - answered like AWS's own faults
            _log.exception("internal error of the embedded %s", self._service.name)
            result = ServiceError(
                "InternalFailure", f"Internal error of the embedded AWS: {error!r}"
            )
        return self.serialized(ActionResult(result))

    def _answer(self) -> Mapping[str, Any] | None:
        name = str(self._get_action())
        operation = self._service.operations.get(name)
        if operation is None:
            raise ServiceError(
                self._service.refusal,
                f"{name} of {self._service.name} is not supported by the embedded AWS",
            )
        return operation(self.region, self.params)
