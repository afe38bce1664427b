"""The `slurm.rds` section: a database server for job records that slurmpod makes."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import Section
from slurmpod.environment.effect import GUARD, IN_PLACE, Effect, Kind
from slurmpod.environment.names import KmsKeyArn

LARGEST_STORAGE_GIB = 65_536
"""What a server with MariaDB takes (RDS user guide, Amazon RDS DB instance storage)."""

RdsOnDelete = Literal["retain", "snapshot", "delete"]


class Rds(Section):
    """An RDS server with MariaDB for job records, which outlives the cluster.

    Private, encrypted, backed up; RDS makes its password and changes it every week. It needs
    subnets in two zones: see `network.other_zones`.
    """

    instance_class: Annotated[
        str,
        Effect(
            Kind.IN_PLACE,
            "changed in place with a pause of some minutes, for which slurmctld keeps the records "
            "of jobs",
        ),
        Field(pattern=r"^db\.[a-z0-9]+\.[a-z0-9]+$", max_length=40, examples=["db.t4g.medium"]),
    ] = "db.t4g.medium"
    """Size of the server."""

    engine_version: Annotated[
        Literal["10.11", "11.4"],
        Effect(
            Kind.IN_PLACE,
            "upgraded in place with a pause of some minutes; there is no way back but a snapshot",
            less=Effect(Kind.REFUSED, "RDS refuses: an older version cannot be installed"),
        ),
    ] = "10.11"
    """Version of MariaDB; RDS installs its minor updates in the maintenance window."""

    storage_gib: Annotated[
        int,
        Effect(
            Kind.IN_PLACE,
            "changed in place; RDS takes the next change after six hours",
            less=Effect(
                Kind.REFUSED,
                "RDS refuses: storage cannot shrink; nor to less than what RDS has let it grow to",
            ),
        ),
        Field(ge=20, le=LARGEST_STORAGE_GIB),
    ] = 50
    """Size of its storage."""

    max_storage_gib: Annotated[int | None, IN_PLACE, Field(ge=22, le=LARGEST_STORAGE_GIB)] = None
    """Size up to which RDS lets it grow by itself; default: twice `storage_gib`, 65536 at most."""

    multi_az: Annotated[
        bool, Effect(Kind.IN_PLACE, "changed in place; the server is slower while it is copied")
    ] = False
    """Whether a second server in another zone takes over when the first fails."""

    backup_retention_days: Annotated[
        int,
        replace(
            IN_PLACE,
            less=Effect(
                Kind.LOSES,
                "older backups are deleted, and what was before can no longer be restored",
            ),
        ),
        Field(ge=1, le=35),
    ] = 14
    """Days for which every moment can be restored."""

    backup_window: Annotated[
        str | None,
        IN_PLACE,
        Field(
            pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$",
            examples=["03:00-04:00"],
        ),
    ] = None
    """When the daily backup is made, in UTC; default: RDS chooses."""

    maintenance_window: Annotated[
        str | None,
        IN_PLACE,
        Field(
            pattern=r"^(mon|tue|wed|thu|fri|sat|sun):([01][0-9]|2[0-3]):[0-5][0-9]-"
            r"(mon|tue|wed|thu|fri|sat|sun):([01][0-9]|2[0-3]):[0-5][0-9]$",
            examples=["sun:05:00-sun:06:00"],
        ),
    ] = None
    """When RDS may update and restart it, in UTC; default: RDS chooses."""

    kms_key_arn: Annotated[
        KmsKeyArn | None,
        Effect(
            Kind.REFUSED,
            "RDS cannot change it, and CloudFormation makes no second server of the same name: "
            "restore a snapshot with the other key, and describe that server under "
            "accounting_database",
        ),
    ] = None
    """Key for its storage, its secret and its logs, whose policy lets CloudWatch Logs use it;
    default: AWS's own keys."""

    on_delete: Annotated[RdsOnDelete, GUARD] = "retain"
    """What becomes of it when its stack is deleted: `retain` also makes RDS refuse its deletion."""
