"""settings.json: what our own lifecycle scripts read. Its reader is slurmpod_lifecycle.settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmpod.bundle.access_values import access_values
from slurmpod.bundle.metrics_values import metrics_values
from slurmpod.bundle.node_values import node_values
from slurmpod.bundle.placeholders import (
    database_endpoint,
    database_secret_arn,
    lustre_address,
    openzfs_dns_name,
)
from slurmpod.bundle.slurm_values import slurm_values
from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved, ResolvedDatabase, ResolvedLustre, ResolvedOpenZfs
from slurmpod.resolve.database import DATABASE_NAME
from slurmpod.resolve.storage import OPENZFS_MOUNT_NAME

FILE_NAME = "settings.json"


def settings_values(resolved: Resolved) -> Mapping[str, Any]:
    """Return what the template refers to, as plain data."""
    return {
        "cluster_name": resolved.name,
        "region": resolved.region,
        "mode": resolved.lifecycle.mode,
        "roles": {group.name: group.role for group in resolved.groups},
        "file_systems": _file_systems(resolved),
        "s3_mounts": [
            {
                "bucket": mount.bucket,
                "prefix": mount.prefix,
                "mount_path": mount.mount_path,
                "read_only": mount.read_only,
                "kms_key_arn": mount.kms_key_arn,
            }
            for mount in resolved.s3_mounts
        ],
        "accounting": resolved.slurm.accounting,
        "database": _database(resolved.database),
        "multi_head": _multi_head(resolved),
        "metrics": metrics_values(resolved),
        "slurm": slurm_values(resolved),
        "access": access_values(resolved),
        "node": node_values(resolved),
        "step_timeout_seconds": resolved.lifecycle.step_timeout_seconds,
    }


def _file_systems(resolved: Resolved) -> list[Mapping[str, Any]]:
    """Return the FSx file systems, in the order of the environment.

    With an API-driven configuration HyperPod mounts the first Lustre file system and OpenZFS.
    """
    is_api_driven = resolved.lifecycle.mode != "customer"
    systems: list[Mapping[str, Any]] = [
        _lustre(lustre, mounted_by_hyperpod=is_api_driven and lustre is resolved.lustre[0])
        for lustre in resolved.lustre
    ]
    if resolved.openzfs:
        systems.append(_openzfs(resolved.openzfs, mounted_by_hyperpod=is_api_driven))
    return systems


def _lustre(lustre: ResolvedLustre, *, mounted_by_hyperpod: bool) -> dict[str, Any]:
    dns_name, mount_name = lustre_address(lustre)
    return {
        "kind": "lustre",
        "dns_name": dns_name,
        "mount_name": mount_name,
        "mount_path": lustre.settings.mount_path,
        "mounted_by_hyperpod": mounted_by_hyperpod,
        "is_new": not lustre.settings.existing,
        "root_squash": bool(lustre.settings.root_squash),
        "efa": lustre.settings.efa,
    }


def _openzfs(openzfs: ResolvedOpenZfs, *, mounted_by_hyperpod: bool) -> dict[str, Any]:
    return {
        "kind": "openzfs",
        "dns_name": openzfs_dns_name(openzfs),
        "mount_name": OPENZFS_MOUNT_NAME,
        "mount_path": openzfs.settings.mount_path,
        "mounted_by_hyperpod": mounted_by_hyperpod,
        "is_new": not openzfs.settings.existing,
        "root_squash": False,
        "efa": False,
    }


def _database(database: ResolvedDatabase | None) -> Mapping[str, Any] | None:
    if database is None:
        return None
    return {
        "endpoint": database_endpoint(database),
        "port": database.port,
        "name": database.name or DATABASE_NAME,
        "secret_arn": database_secret_arn(database),
        "default_user": database.user,
        "requires_tls": database.requires_tls,
    }


def _multi_head(resolved: Resolved) -> Mapping[str, Any] | None:
    multi_head = resolved.slurm.multi_head
    if multi_head is None:
        return None
    return {
        "controllers": sum(group.count for group in resolved.groups_with(Role.CONTROLLER)),
        "shared_directory": multi_head.shared_directory,
        "sns_topic_arn": multi_head.sns_topic_arn,
    }
