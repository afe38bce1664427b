"""Examples in place of what only a deployment knows, so that a request can be looked at before."""

from __future__ import annotations

from dataclasses import dataclass

from slurmpod.deploy.cluster_request import References
from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved


@dataclass(frozen=True)
class NeutralMountTarget:
    """A file system that is not there yet."""

    dns_name: str
    mount_name: str = "abcdefgh"


@dataclass(frozen=True)
class NeutralDatabase:
    """A database server that is not there yet."""

    endpoint: str
    secret_arn: str


def neutral_references(resolved: Resolved) -> References:
    """Return references that no rule objects to, as many as there will be."""
    zones = {resolved.network.zone, *(group.zone for group in resolved.groups)}
    existing = resolved.network.existing
    groups = existing.security_group_ids if existing else ()
    target = NeutralMountTarget(f"fs-0123456789abcdef0.fsx.{resolved.region}.amazonaws.com")
    role = f"arn:{resolved.aws_partition}:iam::{resolved.account}:role/example"
    return References(
        execution_role_arns=dict.fromkeys(Role, role),
        bundle_uri=f"s3://{resolved.lifecycle.bucket}/{resolved.lifecycle.prefix}/0123456789ab",
        subnet_ids=dict.fromkeys(zones, "subnet-0123456789abcdef0"),
        security_group_ids=groups or ("sg-0123456789abcdef0",),
        lustre=target if resolved.lustre else None,
        openzfs=target if resolved.openzfs else None,
        database=_database(resolved),
    )


def _database(resolved: Resolved) -> NeutralDatabase | None:
    if resolved.database is None or resolved.database.new is None:
        return None
    return NeutralDatabase(
        endpoint=f"example.abcdefghijkl.{resolved.region}.rds.amazonaws.com",
        secret_arn=resolved.arn("secretsmanager", "secret:rds!db-example-AbCdEf"),
    )
