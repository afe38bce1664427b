"""The `slurm` section: what of Slurm's configuration the user owns."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from slurmpod.environment.base import Section
from slurmpod.environment.effect import CLUSTER_AGAIN, CONTROLLER_LATER, IN_PLACE, Effect, Kind
from slurmpod.environment.names import HostName, KmsKeyArn, MountPath, SecretArn
from slurmpod.environment.rds import Rds
from slurmpod.environment.slurm_limits import Account, FairShare, Partition, Qos


def _number_as_text(value: Any) -> Any:
    """Take 300 as "300": slurm.conf has text only."""
    return str(value) if type(value) is int else value


SettingName = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9]*$", max_length=64, examples=["SlurmdTimeout"])
]
SettingValue = Annotated[
    str,
    BeforeValidator(_number_as_text, json_schema_input_type=str | int),
    Field(pattern=r"^[^\x00-\x1f\x7f#\\\"]+$", max_length=1000, examples=["300"]),
]

OTHER_RECORDS = Effect(
    Kind.LOSES,
    "the cluster starts with the records of the other database, which the controller uses when "
    "its lifecycle scripts run again; the old ones stay where they are",
)


class AccountingDatabase(Section):
    """A MariaDB or MySQL server of your own for job records."""

    endpoint: Annotated[HostName, OTHER_RECORDS]
    """DNS name of the server."""

    port: Annotated[int, OTHER_RECORDS, Field(ge=1, le=65535)] = 3306
    """Port of the server."""

    secret_arn: Annotated[SecretArn, CONTROLLER_LATER]
    """Secret in Secrets Manager with the keys username and password."""

    secret_kms_key_arn: Annotated[KmsKeyArn | None, IN_PLACE] = None
    """Key of the secret, which nodes then may use to read it; default: AWS's own key."""

    name: Annotated[
        str | None,
        OTHER_RECORDS,
        Field(pattern=r"^[a-zA-Z0-9$_]+$", max_length=64, examples=["slurm_acct_db"]),
    ] = None
    """Name of the database; default: HyperPod's."""


class MultiHead(Section):
    """Several controllers, of which one is active (customer mode only).

    They share their state on a file system, and their job records in a database outside of them.
    """

    shared_directory: Annotated[MountPath, CLUSTER_AGAIN] = "/fsx"
    """Mounted folder under which the controllers keep their common state."""

    database_user: Annotated[
        str, CLUSTER_AGAIN, Field(pattern=r"^[a-zA-Z0-9_]{1,32}$", examples=["admin"])
    ] = "admin"
    """User of a database of your own, where its secret names none."""

    sns_topic_arn: Annotated[
        str | None,
        CLUSTER_AGAIN,
        Field(
            pattern=r"^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$",
            examples=["arn:aws:sns:us-west-2:123456789012:slurm-failover"],
        ),
    ] = None
    """Topic that is told when another controller takes over."""


class Slurm(Section):
    """Settings of the scheduler. HyperPod itself writes node, partition and controller lines."""

    accounting: Annotated[bool, CLUSTER_AGAIN] = True
    """Keep job records in a database, so that `sacct` answers."""

    accounting_database: Annotated[AccountingDatabase | None, OTHER_RECORDS] = None
    """A database server of your own; default: one on the controller."""

    rds: Annotated[
        Rds | None,
        replace(
            OTHER_RECORDS,
            removed=Effect(
                Kind.LOSES,
                "job records go elsewhere from now on; the server stays, and costs, until you "
                "delete its stack",
            ),
        ),
    ] = None
    """A database server that slurmpod makes, in a stack of its own."""

    multi_head: Annotated[MultiHead | None, CLUSTER_AGAIN] = None
    """Several controllers: the controller group then has a count of 2 or more."""

    config_strategy: Annotated[Literal["Overwrite", "Managed", "Merge"] | None, IN_PLACE] = None
    """What HyperPod does with manual changes of slurm.conf (extended and managed modes)."""

    partitions: Annotated[tuple[Partition, ...], CONTROLLER_LATER] = ()
    """Limits of partitions, which the groups name."""

    qos: Annotated[tuple[Qos, ...], CONTROLLER_LATER] = ()
    """Qualities of service: named limits and priorities for jobs."""

    accounts: Annotated[tuple[Account, ...], CONTROLLER_LATER] = ()
    """Accounts to which jobs are charged."""

    fair_share: Annotated[FairShare | None, CONTROLLER_LATER] = None
    """How priorities of jobs are computed; default: first come, first served."""

    settings: Annotated[dict[SettingName, SettingValue], CONTROLLER_LATER] = Field(
        default_factory=dict
    )
    """Other parameters of slurm.conf that HyperPod leaves to you, such as SlurmdTimeout."""
