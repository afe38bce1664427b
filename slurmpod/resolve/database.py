"""The external database for job records: the user's server, or a new one."""

from __future__ import annotations

import re

from slurmpod.environment.environment import Environment
from slurmpod.environment.slurm import LARGEST_STORAGE_GIB, Rds, Slurm
from slurmpod.resolve.resolved import NewDatabase, Resolved, ResolvedDatabase

PORT = 3306
"""MariaDB's default. HyperPod has no setting for another port if several controllers share a
server.
"""

DATABASE_NAME = "slurm_acct_db"
"""slurmdbd's default (slurmdbd.conf(5), StorageLoc). Set explicitly for a new server, because
HyperPod generates a new name for every cluster, and a recreated cluster would not find its records.
"""

USER = "admin"
"""Database user if neither the secret nor the environment names one: HyperPod's default."""

ADDRESSES_IN_EACH_SUBNET = 1
"""RDS places a server in any of its subnets, and in another one after a failover or replacement
(RDS user guide, Working with a DB instance in a VPC).
"""

IDENTIFIER_LIMIT = 63
STORAGE_GROWTH = 2


def resolve_database(environment: Environment) -> ResolvedDatabase | None:
    """Return the external database for job records; None for one on the controller."""
    slurm = environment.slurm
    if slurm.rds:
        return ResolvedDatabase(
            path=("slurm", "rds"),
            endpoint=None,
            port=PORT,
            name=DATABASE_NAME,
            secret_arn=None,
            user=USER,
            requires_tls=environment.lifecycle.mode == "customer",
            new=_new_database(environment.name, slurm.rds),
        )
    database = slurm.accounting_database
    if database is None:
        return None
    return ResolvedDatabase(
        path=("slurm", "accounting_database"),
        endpoint=database.endpoint,
        port=database.port,
        name=database.name,
        secret_arn=database.secret_arn,
        user=_user(slurm),
        requires_tls=False,
        new=None,
    )


def database_identifier(name: str) -> str:
    """Return the name of an environment's server: 63 characters, no two hyphens in a row.

    Source: RDS API reference, CreateDBInstance, DBInstanceIdentifier.
    """
    full = f"{name}-records"
    usable = re.sub("-+", "-", full)
    if usable == full and len(full) <= IDENTIFIER_LIMIT:
        return full
    import hashlib  # only needed for odd names

    digest = hashlib.sha256(full.encode()).hexdigest()[:12]
    kept = usable[: IDENTIFIER_LIMIT - len(digest) - 1].rstrip("-")
    return f"{kept}-{digest}"


def records_key(resolved: Resolved) -> str | None:
    """Return the key of saved job records in the lifecycle bucket; None if they are not saved.

    It is not below the prefix that all nodes read.
    """
    return f"records/{resolved.name}.sql.gz" if resolved.slurm.records_backup else None


def _new_database(name: str, rds: Rds) -> NewDatabase:
    return NewDatabase(
        settings=rds,
        identifier=database_identifier(name),
        max_storage_gib=rds.max_storage_gib
        or min(rds.storage_gib * STORAGE_GROWTH, LARGEST_STORAGE_GIB),
    )


def _user(slurm: Slurm) -> str:
    return slurm.multi_head.database_user if slurm.multi_head else USER
