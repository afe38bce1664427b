"""Resources of the account that an environment names, by ARN, id or name, and their YAML paths.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.environment.names import service_of_arn
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.arns import named_arns
from slurmpod.rules.existing_network import EXISTING

Named = Mapping[str, YamlPath]
"""Resources by identifier, each with the first path that names it."""


def keys(resolved: Resolved) -> Named:
    """Return the KMS keys by ARN."""
    return _of_service("kms", resolved)


def secrets(resolved: Resolved) -> Named:
    """Return the secrets by ARN."""
    return _of_service("secretsmanager", resolved)


def passwords(resolved: Resolved) -> Named:
    """Return the secrets with a password for slurmpod, without those of jobs."""
    named = secrets(resolved)
    return {arn: path for arn, path in named.items() if path[:2] != ("identity", "job_secrets")}


def topics(resolved: Resolved) -> Named:
    """Return the topics of SNS by ARN."""
    return _of_service("sns", resolved)


def training_plans(resolved: Resolved) -> Named:
    """Return the training plans by ARN."""
    return _of_service("sagemaker", resolved)


def images(resolved: Resolved) -> Named:
    """Return the machine images by id."""
    return {
        group.settings.image_id: (*group.path, "image_id")
        for group in reversed(resolved.groups)
        if group.settings.image_id
    }


def vpcs(resolved: Resolved) -> Named:
    """Return the existing VPC by id."""
    existing = resolved.network.existing
    return {existing.vpc_id: (*EXISTING, "vpc_id")} if existing else {}


def subnets(resolved: Resolved) -> Named:
    """Return the existing subnets by id."""
    existing = resolved.network.existing
    named = enumerate(existing.subnets if existing else ())
    return {each.id: (*EXISTING, "subnets", index, "id") for index, each in named}


def security_groups(resolved: Resolved) -> Named:
    """Return the existing security groups by id."""
    existing = resolved.network.existing
    named = enumerate(existing.security_group_ids if existing else ())
    return {id_: (*EXISTING, "security_group_ids", index) for index, id_ in named}


def route_tables(resolved: Resolved) -> Named:
    """Return the existing route tables by id."""
    existing = resolved.network.existing
    named = enumerate(existing.route_table_ids if existing else ())
    return {id_: (*EXISTING, "route_table_ids", index) for index, id_ in named}


def file_systems(resolved: Resolved) -> Named:
    """Return the existing file systems by id."""
    found: dict[str, YamlPath] = {
        lustre.settings.existing.id: (*lustre.path, "existing", "id")
        for lustre in resolved.lustre
        if lustre.settings.existing
    }
    if resolved.openzfs and (existing := resolved.openzfs.settings.existing):
        found[existing.id] = (*resolved.openzfs.path, "existing", "id")
    return found


def buckets(resolved: Resolved) -> Named:
    """Return the buckets that must exist, by name."""
    found: dict[str, YamlPath] = {}
    for index, mount in enumerate(resolved.s3_mounts):
        found.setdefault(mount.bucket, ("storage", "s3_mounts", index, "bucket"))
    for index, data in enumerate(resolved.identity.data_buckets):
        found.setdefault(data.bucket, ("identity", "data_buckets", index, "bucket"))
    for bucket, path in linked_buckets(resolved).items():
        found.setdefault(bucket, path)
    if endpoint := resolved.endpoint:
        found.setdefault(endpoint.model_bucket, (*endpoint.path, "model_data"))
    for index, bucket in enumerate(resolved.network.s3_buckets):
        found.setdefault(bucket, ("network", "s3_buckets", index))
    return found


def linked_buckets(resolved: Resolved) -> Named:
    """Return the buckets that FSx synchronizes with file systems, by name."""
    return {
        repository.bucket: (*lustre.path, "data_repositories", index, "s3_uri")
        for lustre in resolved.lustre
        for index, repository in enumerate(lustre.settings.data_repositories)
    }


def _of_service(service: str, resolved: Resolved) -> Named:
    found: dict[str, YamlPath] = {}
    for path, arn in named_arns(resolved):
        if service_of_arn(arn) == service:
            found.setdefault(arn, path)
    return found
