"""Resolved -> the subjects of permissions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from slurmpod.environment.cluster import Role, Rollout
from slurmpod.permissions.permission import Scope, Secret, SessionRecords
from slurmpod.resolve import Resolved, ResolvedGroup, session_names
from slurmpod.resolve.database import records_key


def scope_of(
    resolved: Resolved,
    roles: Collection[Role],
    *,
    subnet_ids: tuple[str, ...],
    security_group_ids: tuple[str, ...],
    database_secret_arn: str | None = None,
    workspace_arn: str | None = None,
) -> Scope:
    """Return the subject of permissions for the nodes of `roles`.

    Other ids are known only to a deployment, or do not exist in this environment.
    """
    groups = [group for group in resolved.groups if group.role in roles]
    multi_head = resolved.slurm.multi_head
    return Scope(
        cluster_name=resolved.name,
        aws_partition=resolved.aws_partition,
        region=resolved.region,
        account=resolved.account,
        roles=roles,
        subnet_ids=subnet_ids,
        security_group_ids=security_group_ids,
        has_login_nodes=bool(resolved.groups_with(Role.LOGIN)),
        scripts_bucket=resolved.lifecycle.bucket if resolved.stacks.lifecycle else None,
        scripts_prefix=resolved.lifecycle.prefix,
        records_key=records_key(resolved),
        volume_key_arns=set(_volume_keys(groups)),
        asks_for_file_systems=_may_have_efa(resolved),
        asks_for_alarms=any(rollout.rollback_alarms for rollout in _rollouts(groups)),
        s3_mounts=resolved.s3_mounts,
        data_buckets=resolved.identity.data_buckets,
        image_repositories=resolved.identity.image_repositories,
        job_secrets=tuple(
            Secret(each.secret_arn, each.secret_kms_key_arn)
            for each in resolved.identity.job_secrets
        ),
        database_secret=_database_secret(resolved, database_secret_arn),
        bind_secret=_bind_secret(resolved),
        takeover_topic_arn=multi_head.sns_topic_arn if multi_head else None,
        workspace_arn=workspace_arn,
        extension_workspace_arn=_workspace_of_the_extension(resolved),
        sessions=_sessions(resolved),
    )


def _workspace_of_the_extension(resolved: Resolved) -> str | None:
    """Return the workspace that HyperPod's collector writes to, if any: its URL has its id."""
    observability = resolved.monitoring and resolved.monitoring.observability
    if not observability or not observability.remote_write_url:
        return None
    host, _, path = observability.remote_write_url.removeprefix("https://").partition("/")
    region, workspace = host.split(".")[1], path.split("/")[1]
    return f"arn:{resolved.aws_partition}:aps:{region}:{resolved.account}:workspace/{workspace}"


def _volume_keys(groups: Collection[ResolvedGroup]) -> Iterator[str]:
    for group in groups:
        keys = (group.settings.volume_kms_key_arn, group.settings.root_volume_kms_key_arn)
        yield from (key for key in keys if key)


def _may_have_efa(resolved: Resolved) -> bool:
    """Whether an existing file system has EFA is not known."""
    settings = [lustre.settings for lustre in resolved.lustre]
    return any(each.efa or each.existing for each in settings)


def _rollouts(groups: Collection[ResolvedGroup]) -> Iterator[Rollout]:
    for group in groups:
        for update in (group.settings.scheduled_update, group.settings.auto_patch):
            if update and update.rollout:
                yield update.rollout


def _database_secret(resolved: Resolved, deployed_arn: str | None) -> Secret | None:
    arn = deployed_arn or (resolved.database and resolved.database.secret_arn)
    if not arn:
        return None
    rds, own = resolved.slurm.rds, resolved.slurm.accounting_database
    if rds:
        return Secret(arn, rds.kms_key_arn)
    return Secret(arn, own.secret_kms_key_arn if own else None)


def _bind_secret(resolved: Resolved) -> Secret | None:
    directory = resolved.access.directory
    if directory is None or not directory.bind_secret_arn:
        return None
    return Secret(directory.bind_secret_arn, directory.bind_secret_kms_key_arn)


def _sessions(resolved: Resolved) -> SessionRecords | None:
    sessions, names = resolved.access.sessions, session_names(resolved)
    if sessions is None:
        return None
    return SessionRecords(names.log_group, names.bucket, sessions.kms_key_arn)


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
"""Examples of ids that AWS generates, by the pattern that matches them."""


def node_roles(resolved: Resolved) -> Mapping[str, frozenset[Role]]:
    """Return the nodes that each IAM role serves, by its ARN or by the name of a new one."""
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
    """Return a scope as far as the environment's file defines it."""
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
