"""Stand-ins for what only a deployment knows: where a new file system is mounted from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
