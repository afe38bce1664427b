"""The Cloud Control API of the embedded AWS: looks up resources of any type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError
from embedded_aws.resources.provider import ProviderError
from embedded_aws.resources.registry import is_there
from embedded_aws.resources.schemas import import_identifiers
from embedded_aws.wire import Operation


class CloudControlApi:
    """GetResource, which returns a resource's identifier only."""

    name: Final = "cloudcontrol"
    refusal: Final = "UnsupportedActionException"

    def __init__(self, clients: Callable[[str], Clients]) -> None:
        self._clients = clients
        self.operations: Mapping[str, Operation] = {"GetResource": self._get_resource}

    def _get_resource(self, region: str, given: Mapping[str, Any]) -> dict[str, Any]:
        kind, identifier = given["TypeName"], given["Identifier"]
        identifiers = import_identifiers(kind)
        if not identifiers:
            raise ServiceError("UnsupportedActionException", f"{kind} does not support READ action")
        first = identifier.split("|")[0]
        try:
            exists = is_there(self._clients(region), kind, first)
        except ProviderError as error:
            raise ServiceError("UnsupportedActionException", str(error)) from error
        if not exists:
            raise ServiceError(
                "ResourceNotFoundException",
                f"Resource of type '{kind}' with identifier '{identifier}' was not found.",
            )
        properties = dict(zip(identifiers, identifier.split("|"), strict=False))
        described = {"Identifier": identifier, "Properties": json.dumps(properties)}
        return {"TypeName": kind, "ResourceDescription": described}
