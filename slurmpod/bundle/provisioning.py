"""provisioning_parameters.json: roles of instance groups, for HyperPod and lifecycle scripts.

Only customer mode has it: in the other modes the request to the API holds the same facts, and
HyperPod refuses both at once. Keys: SageMaker HyperPod developer guide, "Customize SageMaker
HyperPod clusters using lifecycle scripts" and "Setting up multiple controller nodes".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slurmpod.environment.cluster import Role
from slurmpod.resolve import Resolved, ResolvedDatabase, ResolvedLustre, ResolvedOpenZfs

OPENZFS_DNS_NAME = "@OPENZFS:DNS_NAME@"
DATABASE_ENDPOINT = "@DATABASE:ENDPOINT@"
DATABASE_SECRET_ARN = "@DATABASE:SECRET_ARN@"  # noqa: S105  # where it is, not what
REMOTE_WRITE_URL = "@PROMETHEUS:REMOTE_WRITE_URL@"


@dataclass(frozen=True)
class LustrePlaceholders:
    """The stand-ins for one new FSx for Lustre file system."""

    dns_name: str
    mount_name: str


def lustre_placeholders(name: str) -> LustrePlaceholders:
    """Return the stand-ins for the file system that the environment calls `name`."""
    return LustrePlaceholders(f"@LUSTRE:{name}:DNS_NAME@", f"@LUSTRE:{name}:MOUNT_NAME@")


def placeholders_of(resolved: Resolved) -> Iterator[str]:
    """Return every stand-in that rendered files of this environment may hold."""
    for lustre in resolved.lustre:
        placeholders = lustre_placeholders(lustre.name)
        yield from (placeholders.dns_name, placeholders.mount_name)
    yield from (OPENZFS_DNS_NAME, DATABASE_ENDPOINT, DATABASE_SECRET_ARN, REMOTE_WRITE_URL)


def lustre_address(lustre: ResolvedLustre) -> tuple[str, str]:
    """Return DNS name and mount name of a file system, or their stand-ins for a new one."""
    existing = lustre.settings.existing
    if existing and lustre.dns_name:
        return lustre.dns_name, existing.mount_name
    placeholders = lustre_placeholders(lustre.name)
    return placeholders.dns_name, placeholders.mount_name


def openzfs_dns_name(openzfs: ResolvedOpenZfs) -> str:
    """Return the DNS name of the file system, or its stand-in for a new one."""
    return openzfs.dns_name or OPENZFS_DNS_NAME


def database_endpoint(database: ResolvedDatabase) -> str:
    """Return the DNS name of the database server, or its stand-in for a new one."""
    return database.endpoint or DATABASE_ENDPOINT


def database_secret_arn(database: ResolvedDatabase) -> str:
    """Return the secret of the database server, or its stand-in for a new one."""
    return database.secret_arn or DATABASE_SECRET_ARN


FILE_NAME = "provisioning_parameters.json"


def provisioning_values(resolved: Resolved) -> Mapping[str, Any]:
    """Return the values for the template, as plain data.

    Raises ValueError for an environment without exactly one controller group.
    """
    (controller,) = resolved.groups_with(Role.CONTROLLER)
    login = resolved.groups_with(Role.LOGIN)
    return {
        "controller_group": controller.name,
        "login_group": login[0].name if login else None,
        "worker_groups": [
            {"instance_group_name": group.name, "partition_name": group.partition}
            for group in resolved.groups_with(Role.WORKER)
        ],
        "lustre": lustre_address(resolved.lustre[0]) if resolved.lustre else None,
        "openzfs_dns_name": openzfs_dns_name(resolved.openzfs) if resolved.openzfs else None,
        "slurm_configurations": _slurm_configurations(resolved),
    }


def _slurm_configurations(resolved: Resolved) -> Mapping[str, str] | None:
    """Return the settings that several controllers share; None for one controller."""
    multi_head, database = resolved.slurm.multi_head, resolved.database
    if not multi_head or not database:
        return None
    configurations = {
        "slurm_database_secret_arn": database_secret_arn(database),
        "slurm_database_endpoint": database_endpoint(database),
        "slurm_shared_directory": multi_head.shared_directory,
        "slurm_database_user": database.user,
    }
    if multi_head.sns_topic_arn:
        configurations["slurm_sns_arn"] = multi_head.sns_topic_arn
    return configurations
