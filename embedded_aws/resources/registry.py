"""The resource types that the embedded AWS can create. Any other fails the deployment by name."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

from embedded_aws.clients import Clients
from embedded_aws.resources import custom
from embedded_aws.resources.api_resource import ApiResource
from embedded_aws.resources.provider import Provider, ProviderError
from embedded_aws.resources.schemas import did_you_mean
from embedded_aws.templates.template import TemplateError

_SERVICES: Final = (
    "application_autoscaling",
    "aps",
    "budgets",
    "cdk",
    "cloudwatch",
    "custom",
    "ec2_endpoint",
    "ec2_network",
    "ec2_routing",
    "ec2_security_group",
    "ecr",
    "events",
    "fsx",
    "grafana",
    "iam",
    "kms",
    "lambda_functions",
    "logs",
    "nested_stacks",
    "rds",
    "s3",
    "sagemaker",
    "sagemaker_extensions",
    "sagemaker_hosting",
    "sagemaker_notebooks",
    "secretsmanager",
    "sns",
    "sqs",
    "ssm",
)
"""The modules of this package with resource types, by service."""


def _providers(module: ModuleType) -> list[Provider]:
    """Return a provider of every resource type that a service's file defines."""
    return [
        each()
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Provider) and "type" in vars(each)
    ]


PROVIDERS: Final[dict[str, Provider]] = {
    provider.type: provider
    for name in _SERVICES
    for provider in _providers(import_module(f"embedded_aws.resources.{name}"))
}
"""Every supported resource type, by CloudFormation's name."""


_LIKENESS: Final = 0.9
"""Minimum similarity of two types for a suggestion; all begin alike."""


def provider_for(logical_id: str, resource_type: str) -> Provider:
    """Return the provider of a type; raises TemplateError for an unsupported one."""
    if resource_type in PROVIDERS:
        return PROVIDERS[resource_type]
    if resource_type.startswith(custom.PREFIX):
        return PROVIDERS[custom.CustomResource.type]
    question = did_you_mean(resource_type, PROVIDERS, _LIKENESS)
    raise TemplateError(
        f"{resource_type} ({logical_id}) is not supported by the embedded AWS{question}"
    )


def require_existing(aws: Clients, resource_type: str, physical_id: str) -> None:
    """Raise ProviderError for a missing resource, or a type that has no import."""
    if not is_there(aws, resource_type, physical_id):
        raise ProviderError(
            f"Resource of type '{resource_type}' with identifier '{physical_id}' was not found."
        )


def is_there(aws: Clients, resource_type: str, physical_id: str) -> bool:
    """Return whether a resource exists; raises ProviderError if its type cannot be looked up."""
    provider = PROVIDERS.get(resource_type)
    if not isinstance(provider, ApiResource):
        raise ProviderError(f"{resource_type} cannot be imported in the embedded AWS")
    return provider.exists(aws, physical_id)
