"""The `slurm.rds` section: a database server for job records that slurmpod makes."""

from typing import Annotated, Literal

from pydantic import Field

from slurmpod.model.base import Section
from slurmpod.model.names import KmsKeyArn

LARGEST_STORAGE_GIB = 65_536
"""What a server with MariaDB takes (RDS user guide, Amazon RDS DB instance storage)."""

RdsOnDelete = Literal["retain", "snapshot", "delete"]


class Rds(Section):
    """An RDS server with MariaDB for job records, which outlives the cluster.

    Private, encrypted, backed up; RDS makes its password and changes it every week. It needs
    subnets in two zones: see `network.other_zones`.
    """

    instance_class: Annotated[
        str, Field(pattern=r"^db\.[a-z0-9]+\.[a-z0-9]+$", max_length=40, examples=["db.t4g.medium"])
    ] = "db.t4g.medium"
    """Size of the server."""

    engine_version: Literal["10.11", "11.4"] = "10.11"
    """Version of MariaDB; RDS installs its minor updates in the maintenance window."""

    storage_gib: Annotated[int, Field(ge=20, le=LARGEST_STORAGE_GIB)] = 50
    """Size of its storage."""

    max_storage_gib: Annotated[int | None, Field(ge=22, le=LARGEST_STORAGE_GIB)] = None
    """Size up to which RDS lets it grow by itself; default: twice `storage_gib`, 65536 at most."""

    multi_az: bool = False
    """Whether a second server in another zone takes over when the first fails."""

    backup_retention_days: Annotated[int, Field(ge=1, le=35)] = 14
    """Days for which every moment can be restored."""

    backup_window: Annotated[
        str | None,
        Field(
            pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$",
            examples=["03:00-04:00"],
        ),
    ] = None
    """When the daily backup is made, in UTC; default: RDS chooses."""

    maintenance_window: Annotated[
        str | None,
        Field(
            pattern=r"^(mon|tue|wed|thu|fri|sat|sun):([01][0-9]|2[0-3]):[0-5][0-9]-"
            r"(mon|tue|wed|thu|fri|sat|sun):([01][0-9]|2[0-3]):[0-5][0-9]$",
            examples=["sun:05:00-sun:06:00"],
        ),
    ] = None
    """When RDS may update and restart it, in UTC; default: RDS chooses."""

    kms_key_arn: KmsKeyArn | None = None
    """Key for its storage, its secret and its logs, whose policy lets CloudWatch Logs use it;
    default: AWS's own keys."""

    on_delete: RdsOnDelete = "retain"
    """What becomes of it when its stack is deleted: `retain` also makes RDS refuse its deletion."""
