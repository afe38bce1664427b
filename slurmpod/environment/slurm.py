"""The `slurm` section: the user's part of Slurm's configuration."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from slurmpod.environment.base import (
    CLUSTER_AGAIN,
    CONTROLLER_LATER,
    GUARD,
    IN_PLACE,
    MIGRATION_GUIDE,
    REPLACEMENT,
    Effect,
    Kind,
    Section,
)
from slurmpod.environment.known import Known
from slurmpod.environment.names import HostName, KmsKeyArn, MountPath, SecretArn
from slurmpod.environment.slurm_limits import (
    Account,
    FairShare,
    Partition,
    Qos,
    number_as_text,
)

LARGEST_STORAGE_GIB = 65_536
"""Storage limits of a server with MariaDB (RDS user guide, Amazon RDS DB instance storage)."""

MOST_SETTINGS = 250
"""More than the number of parameters in slurm.conf that users may set."""

RdsOnDelete = Literal["retain", "snapshot", "delete"]


class Rds(Section):
    """An RDS server with MariaDB for job records, which outlives the cluster.

    Private, encrypted, backed up; RDS generates its password and rotates it every week. It needs
    subnets in two zones: see `network.other_zones`.
    """

    instance_class: Annotated[
        str,
        Effect(
            Kind.IN_PLACE,
            "changed in place with a pause of some minutes, during which slurmctld buffers job "
            "records",
        ),
        Field(pattern=r"^db\.[a-z0-9]+\.[a-z0-9]+$", max_length=40, examples=["db.t4g.medium"]),
    ] = "db.t4g.medium"
    """Size of the server."""

    engine_version: Annotated[
        str,
        Known("slurm.rds.engine_version"),
        Effect(
            Kind.IN_PLACE,
            "upgraded in place with a pause of some minutes; the only way back is a snapshot",
            less=Effect(
                Kind.REFUSED,
                "RDS refuses: a version cannot be downgraded",
                source='RDS user guide, "Upgrades of the MariaDB DB engine"',
            ),
        ),
    ] = "10.11"
    """Version of MariaDB; RDS installs its minor updates in the maintenance window."""

    storage_gib: Annotated[
        int,
        Effect(
            Kind.IN_PLACE,
            "changed in place; RDS accepts the next change after six hours",
            less=Effect(
                Kind.REFUSED,
                "RDS refuses: storage cannot shrink, not even to a size that is below "
                "autoscaled storage",
                source="RDS API reference, ModifyDBInstance, AllocatedStorage",
            ),
        ),
        Field(ge=20, le=LARGEST_STORAGE_GIB),
    ] = 50
    """Size of its storage."""

    max_storage_gib: Annotated[int | None, IN_PLACE, Field(ge=22, le=LARGEST_STORAGE_GIB)] = None
    """Size up to which RDS grows it automatically; default: twice `storage_gib`, 65536 at most."""

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
                "older backups are deleted and can no longer be restored",
            ),
        ),
        Field(ge=1, le=35),
    ] = 14
    """Days of backups, within which any point in time can be restored."""

    backup_window: Annotated[
        str | None,
        IN_PLACE,
        Field(
            pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$",
            examples=["03:00-04:00"],
        ),
    ] = None
    """Window for the daily backup, in UTC; default: RDS chooses."""

    maintenance_window: Annotated[
        str | None,
        IN_PLACE,
        Field(
            pattern=r"^(mon|tue|wed|thu|fri|sat|sun):([01][0-9]|2[0-3]):[0-5][0-9]-"
            r"(mon|tue|wed|thu|fri|sat|sun):([01][0-9]|2[0-3]):[0-5][0-9]$",
            examples=["sun:05:00-sun:06:00"],
        ),
    ] = None
    """Window for updates and restarts by RDS, in UTC; default: RDS chooses."""

    kms_key_arn: Annotated[
        KmsKeyArn | None,
        Effect(
            Kind.REFUSED,
            "RDS cannot change it, and CloudFormation cannot create a second server of the same "
            "name: restore a snapshot with the other key, and describe that server under "
            "accounting_database",
            source=REPLACEMENT,
        ),
    ] = None
    """Key for its storage, its secret and its logs, whose policy must let CloudWatch Logs use it;
    default: AWS's own keys.
    """

    on_delete: Annotated[RdsOnDelete, GUARD] = "retain"
    """What happens to it when its stack is deleted: `retain` also makes RDS refuse its deletion."""


SettingName = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9]*$", max_length=64, examples=["SlurmdTimeout"])
]
SettingValue = Annotated[
    str,
    BeforeValidator(number_as_text, json_schema_input_type=str | int),
    Field(pattern=r"^[^\x00-\x1f\x7f#\\\"]+$", max_length=1000, examples=["300"]),
]

OTHER_RECORDS = Effect(
    Kind.LOSES,
    "the controller uses the other database and its records when its lifecycle scripts run "
    "again; the old records stay in the old database",
)


ACCOUNTING_AGAIN = replace(
    CLUSTER_AGAIN,
    doubt="slurmpod itself refuses: its scripts start accounting before slurmctld, which has "
    "not been tested on a running controller",
)
HEADS_AGAIN = replace(
    CLUSTER_AGAIN,
    source=f'{MIGRATION_GUIDE}, "Clusters with multiple controller nodes"',
    doubt="the page calls the way back to one controller a significant change of the "
    "architecture; there is no report of a cluster that made either change",
)
"""Effect of changing between one and several controllers, or their shared resources."""


class AccountingDatabase(Section):
    """Your own MariaDB or MySQL server for job records."""

    endpoint: Annotated[HostName, OTHER_RECORDS]
    """DNS name of the server."""

    port: Annotated[int, OTHER_RECORDS, Field(ge=1, le=65535)] = 3306
    """Port of the server."""

    secret_arn: Annotated[SecretArn, CONTROLLER_LATER]
    """Secret in Secrets Manager with the keys username and password."""

    secret_kms_key_arn: Annotated[KmsKeyArn | None, IN_PLACE] = None
    """Key of the secret, which nodes are then allowed to use; default: AWS's own key."""

    name: Annotated[
        str | None,
        OTHER_RECORDS,
        Field(pattern=r"^[a-zA-Z0-9$_]+$", max_length=64, examples=["slurm_acct_db"]),
    ] = None
    """Name of the database; default: HyperPod's."""


class RecordsBackup(Section):
    """Copies of the controller's own job records in the bucket of lifecycle scripts.

    A new controller starts with the last copy.
    """

    interval_minutes: Annotated[int, CONTROLLER_LATER, Field(ge=5, le=1440, examples=[60])] = 60
    """Minutes between copies: records after the last copy are lost with the disk."""

    keep_days: Annotated[int, IN_PLACE, Field(ge=1, le=3650)] = 30
    """Days for which older copies are kept."""


class MultiHead(Section):
    """Several controllers, of which one is active (customer mode only).

    They share their state on a file system, and their job records in an external database.
    """

    shared_directory: Annotated[MountPath, HEADS_AGAIN] = "/fsx"
    """Mounted folder for the controllers' shared state."""

    database_user: Annotated[
        str, HEADS_AGAIN, Field(pattern=r"^[a-zA-Z0-9_]{1,32}$", examples=["admin"])
    ] = "admin"
    """User of your own database, if its secret names none."""

    sns_topic_arn: Annotated[
        str | None,
        HEADS_AGAIN,
        Field(
            pattern=r"^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$",
            examples=["arn:aws:sns:us-west-2:123456789012:slurm-failover"],
        ),
    ] = None
    """Topic that is notified when another controller takes over."""


class Slurm(Section):
    """Settings of the scheduler. HyperPod itself writes node, partition and controller lines."""

    accounting: Annotated[bool, ACCOUNTING_AGAIN] = True
    """Keep job records in a database, for `sacct`."""

    accounting_database: Annotated[AccountingDatabase | None, OTHER_RECORDS] = None
    """A database server of your own; default: one on the controller."""

    rds: Annotated[
        Rds | None,
        replace(
            OTHER_RECORDS,
            removed=Effect(
                Kind.LOSES,
                "new job records go elsewhere; the server stays, and is billed, until you "
                "delete its stack",
            ),
        ),
    ] = None
    """A database server that slurmpod creates, in a separate stack."""

    records_backup: Annotated[RecordsBackup | None, CONTROLLER_LATER] = None
    """Copies of the job records of a database on the controller, in the bucket (customer mode);
    default: they are lost with the controller.
    """

    multi_head: Annotated[MultiHead | None, HEADS_AGAIN] = None
    """Several controllers: the controller group then has a count of 2 or more."""

    config_strategy: Annotated[str | None, Known("slurm.config_strategy"), IN_PLACE] = None
    """What HyperPod does with manual changes of slurm.conf (extended and managed modes)."""

    partitions: Annotated[tuple[Partition, ...], CONTROLLER_LATER] = ()
    """Limits of partitions, which the groups name."""

    qos: Annotated[tuple[Qos, ...], CONTROLLER_LATER] = ()
    """Qualities of service: named limits and priorities for jobs."""

    accounts: Annotated[tuple[Account, ...], CONTROLLER_LATER] = ()
    """Accounts to which jobs are charged."""

    fair_share: Annotated[FairShare | None, CONTROLLER_LATER] = None
    """Computation of job priorities; default: first come, first served."""

    settings: Annotated[
        dict[SettingName, SettingValue], CONTROLLER_LATER, Field(max_length=MOST_SETTINGS)
    ] = Field(default_factory=dict)
    """Other parameters of slurm.conf that HyperPod leaves to you, such as SlurmdTimeout."""
