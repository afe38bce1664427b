"""Existence of a resource, which CloudFormation checks before an import."""

from __future__ import annotations

from embedded_aws.clients import Clients
from embedded_aws.resources.api_resource import ApiResource
from embedded_aws.resources.provider import ProviderError
from embedded_aws.resources.registry import PROVIDERS


def require_existing(aws: Clients, resource_type: str, physical_id: str) -> None:
    """Raise ProviderError for a resource that is not there, or of a type that has no import."""
    if not is_there(aws, resource_type, physical_id):
        raise ProviderError(
            f"Resource of type '{resource_type}' with identifier '{physical_id}' was not found."
        )


def is_there(aws: Clients, resource_type: str, physical_id: str) -> bool:
    """Tell whether a resource exists; raises ProviderError for a type that is not looked up."""
    provider = PROVIDERS.get(resource_type)
    if not isinstance(provider, ApiResource):
        raise ProviderError(f"{resource_type} cannot be imported in the embedded AWS")
    return provider.exists(aws, physical_id)
