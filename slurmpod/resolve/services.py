"""The services beside the cluster: their names and resolved settings."""

from __future__ import annotations

from slurmpod.environment.environment import Environment
from slurmpod.environment.service_types import memory_of
from slurmpod.resolve.resolved import EcrImage, ResolvedEndpoint, ResolvedNotebook

ENDPOINT = ("services", "endpoint")
"""The position of the endpoint in the file."""

NOTEBOOK = ("services", "notebook")
"""The position of the notebook instance in the file."""

ENDPOINT_LOGS = "/aws/sagemaker/Endpoints"
"""SageMaker's log group of an endpoint is /aws/sagemaker/Endpoints/<name>; the namespace of the
metrics of its instances has the same name (developer guide, "Monitor Amazon SageMaker AI with
Amazon CloudWatch")."""

MILLION = 10**6

ADDRESSES_PER_INSTANCE = 2
"""Developer guide, "Give SageMaker AI Hosted Endpoints Access to Resources in Your Amazon VPC"."""

FLEETS_OF_AN_UPDATE = 2
"""New instances are started before the old ones are removed."""


def resolve_endpoint(environment: Environment) -> ResolvedEndpoint | None:
    """Return the endpoint; it is named after the environment, which always fits."""
    settings = environment.services.endpoint
    if settings is None:
        return None
    bucket, _, key = settings.model_data.removeprefix("s3://").partition("/")
    weights = settings.parameters_millions * MILLION * settings.bytes_per_parameter
    return ResolvedEndpoint(
        path=ENDPOINT,
        settings=settings,
        name=environment.name,
        image=ecr_image(settings.image),
        model_bucket=bucket,
        model_key=key,
        weights_bytes=weights,
        memory=memory_of(settings.instance_type),
        log_group=f"{ENDPOINT_LOGS}/{environment.name}",
    )


def resolve_notebook(environment: Environment) -> ResolvedNotebook | None:
    """Return the notebook instance; it is named after the environment, too."""
    settings = environment.services.notebook
    if settings is None:
        return None
    return ResolvedNotebook(NOTEBOOK, settings, environment.name, environment.network.zone)


def ecr_image(uri: str) -> EcrImage:
    """Parse the URI of an image: <account>.dkr.ecr.<region>.<domain>/<repository>:<tag>."""
    registry, _, rest = uri.partition("/")
    account, _, _, region, *_ = registry.split(".")
    repository, separator, version = rest.partition("@")
    if not separator:
        repository, _, version = rest.rpartition(":")
    return EcrImage(account, region, repository, version)


def service_addresses(endpoint: ResolvedEndpoint | None) -> int:
    """Return the addresses that services take in each subnet in the worst case.

    SageMaker spreads instances over the zones; if one of two fails, all of them are in the other.
    """
    if endpoint is None:
        return 0
    return endpoint.most_instances * ADDRESSES_PER_INSTANCE * FLEETS_OF_AN_UPDATE
