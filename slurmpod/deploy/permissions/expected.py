"""Scopes before anything is deployed: ids that nobody knows yet are left open, as `*`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from slurmpod.deploy.permissions.permission import Scope
from slurmpod.deploy.permissions.scope import scope_of
from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved

SECRETS_OF_RDS = "secret:rds!db-*"
"""RDS names the secrets that it manages so (RDS user guide, Password management)."""

EXAMPLES = {
    "network-interface/*": "network-interface/eni-0a1b2c3d4e5f60718",
    "instance/*": "instance/i-0a1b2c3d4e5f60718",
    "subnet/*": "subnet/subnet-0a1b2c3d4e5f60718",
    "security-group/*": "security-group/sg-0a1b2c3d4e5f60718",
    "cluster/*": "cluster/a1b2c3d4e5f6",
    "file-system/*": "file-system/fs-0a1b2c3d4e5f60718",
    SECRETS_OF_RDS: "secret:rds!db-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9-AbCdEf",
    "workspace/*": "workspace/ws-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
}
"""What ids look like that AWS makes up, by the form that leaves them open."""


def node_roles(resolved: Resolved) -> Mapping[str, frozenset[Role]]:
    """Return the nodes that each IAM role serves: by its ARN, or by what a new one is called."""
    existing = resolved.identity.existing
    if existing is None and resolved.identity.roles == "one":
        return {"Execution": frozenset(Role)}
    found: dict[str, frozenset[Role]] = {}
    for role in Role:
        if existing:
            name = getattr(existing, role.value) or existing.controller
        else:
            name = role.capitalize()
        if resolved.groups_with(role):
            found[name] = found.get(name, frozenset()) | {role}
    return found


def expected_scope(resolved: Resolved, roles: Collection[Role]) -> Scope:
    """Return what is known of a scope from the environment's file alone."""
    existing = resolved.network.existing
    groups = existing.security_group_ids if existing else ()
    is_new_database = resolved.database and resolved.database.new
    has_workspace = resolved.monitoring and resolved.monitoring.prometheus
    secret = resolved.arn("secretsmanager", SECRETS_OF_RDS)
    return scope_of(
        resolved,
        roles,
        subnet_ids=tuple(sorted({subnet.id or "*" for subnet in resolved.network.private})),
        security_group_ids=tuple(groups) or ("*",),
        database_secret_arn=secret if is_new_database else None,
        workspace_arn=resolved.arn("aps", "workspace/*") if has_workspace else None,
    )
