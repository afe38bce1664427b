"""Properties of a cluster: the input of its request, from an environment or another CDK app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Literal

from slurmpod.environment.cluster import Group, NodeRecovery
from slurmpod.environment.lifecycle import LifecycleMode
from slurmpod.request.references import (
    References,
    RoleReference,
    SecurityGroupReference,
    SubnetReference,
)
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.value import Value

if TYPE_CHECKING:
    from slurmpod.request.interfaces import (
        HasKeyArn,
        HasRoleArn,
        HasSecurityGroupId,
        HasSubnetId,
        LifecycleScripts,
        MountedLustre,
        MountedOpenZfs,
        MountTarget,
    )


class AccountingDatabase(Value):
    """An external database for job records; `name` is None unless chosen."""

    endpoint: str
    port: int | str
    secret_arn: str
    name: str | None = None


class InstanceGroup(Value):
    """A group of equal nodes: their settings as in `cluster.groups`, and their resources.

    Without a `subnet` they are in the cluster's; `zone` of the settings is ignored. The keys
    replace those that the settings name.
    """

    settings: Group
    execution_role: HasRoleArn
    subnet: HasSubnetId | None = None
    volume_key: HasKeyArn | None = None
    root_volume_key: HasKeyArn | None = None


class ClusterProperties(Value):
    """A cluster with Slurm.

    `lifecycle_mode` says who configures Slurm, as `lifecycle.mode` in an environment: HyperPod and
    then the scripts (extended), only the scripts with a provisioning_parameters.json (customer), or
    only HyperPod (managed). The default depends on whether there are scripts. HyperPod mounts the
    file systems, except in customer mode, where the scripts do.
    """

    _: KW_ONLY
    name: str
    groups: Sequence[InstanceGroup]
    subnet: HasSubnetId
    security_groups: Sequence[HasSecurityGroupId]
    lifecycle: LifecycleScripts | None = None
    lifecycle_mode: LifecycleMode | None = None
    lustre: MountedLustre | None = None
    openzfs: MountedOpenZfs | None = None
    accounting_database: AccountingDatabase | None = None
    config_strategy: str | None = None
    node_recovery: NodeRecovery = "Automatic"
    provisioning: Literal["standard", "continuous"] = "standard"
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def mode(self) -> LifecycleMode:
        """The lifecycle mode, or its default."""
        return self.lifecycle_mode or ("extended" if self.lifecycle else "managed")


class _Scripts(Value):
    source_s3_uri: str
    entry_script: str


class _Mounted(Value):
    dns_name: str
    mount_name: str
    mount_path: str


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
    """Return the user's server, or the environment's own."""
    database, new = resolved.database, references.database
    if database is None:
        return None
    endpoint = new.endpoint if new else database.endpoint
    secret_arn = new.secret_arn if new else database.secret_arn
    if endpoint is None or secret_arn is None:
        return None
    return AccountingDatabase(endpoint, database.port, secret_arn, database.name)
