"""Resolved -> the properties of its cluster."""

from __future__ import annotations

from dataclasses import dataclass

from slurmpod.deploy.cluster_request.properties import (
    AccountingDatabase,
    ClusterProperties,
    InstanceGroup,
)
from slurmpod.deploy.cluster_request.request import Request, request_for
from slurmpod.deploy.references import (
    MountTarget,
    References,
    RoleReference,
    SecurityGroupReference,
    SubnetReference,
)
from slurmpod.resolve import Resolved, ResolvedGroup


@dataclass(frozen=True)
class _Scripts:
    source_s3_uri: str
    entry_script: str


@dataclass(frozen=True)
class _Mounted:
    dns_name: str
    mount_name: str
    mount_path: str


def cluster_request(resolved: Resolved, references: References) -> Request:
    """Return the request for the cluster of an environment; raises as `cluster_properties`."""
    return request_for(cluster_properties(resolved, references))


def cluster_properties(resolved: Resolved, references: References) -> ClusterProperties:
    """Return the cluster of an environment; raises KeyError for a zone without a subnet."""
    groups = references.security_group_ids
    return ClusterProperties(
        name=resolved.name,
        groups=tuple(_group(resolved, group, references) for group in resolved.groups),
        subnet=SubnetReference(references.subnet_ids[resolved.network.zone]),
        security_groups=tuple(SecurityGroupReference(id_) for id_ in groups),
        lifecycle=_scripts(resolved, references),
        lifecycle_mode=resolved.lifecycle.mode,
        lustre=_lustre(resolved, references.lustre),
        openzfs=_openzfs(resolved, references.openzfs),
        accounting_database=_database(resolved, references),
        config_strategy=resolved.slurm.config_strategy,
        node_recovery=resolved.node_recovery,
        provisioning="continuous" if resolved.continuous else "standard",
        tags=resolved.tags,
    )


def _group(resolved: Resolved, group: ResolvedGroup, references: References) -> InstanceGroup:
    is_elsewhere = group.zone != resolved.network.zone
    return InstanceGroup(
        group.settings,
        RoleReference(references.execution_role_arns[group.role]),
        subnet=SubnetReference(references.subnet_ids[group.zone]) if is_elsewhere else None,
    )


def _scripts(resolved: Resolved, references: References) -> _Scripts | None:
    if references.bundle_uri is None or resolved.lifecycle.entry_script is None:
        return None
    return _Scripts(references.bundle_uri, resolved.lifecycle.entry_script)


def _lustre(resolved: Resolved, target: MountTarget | None) -> _Mounted | None:
    if target is None or not resolved.lustre:
        return None
    return _Mounted(target.dns_name, target.mount_name, resolved.lustre[0].settings.mount_path)


def _openzfs(resolved: Resolved, target: MountTarget | None) -> _Mounted | None:
    if target is None or resolved.openzfs is None:
        return None
    return _Mounted(target.dns_name, target.mount_name, resolved.openzfs.settings.mount_path)


def _database(resolved: Resolved, references: References) -> AccountingDatabase | None:
    """Return the server of the user's, or the environment's own."""
    database, new = resolved.database, references.database
    if database is None:
        return None
    endpoint = new.endpoint if new else database.endpoint
    secret_arn = new.secret_arn if new else database.secret_arn
    if endpoint is None or secret_arn is None:
        return None
    return AccountingDatabase(endpoint, database.port, secret_arn, database.name)
