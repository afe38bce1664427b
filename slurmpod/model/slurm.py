"""The `slurm` section: what of Slurm's configuration the user owns."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from slurmpod.model.base import Section
from slurmpod.model.names import HostName, KmsKeyArn, MountPath, SecretArn
from slurmpod.model.rds import Rds
from slurmpod.model.slurm_limits import Account, FairShare, Partition, Qos


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


class AccountingDatabase(Section):
    """A MariaDB or MySQL server of your own for job records."""

    endpoint: HostName
    """DNS name of the server."""

    port: Annotated[int, Field(ge=1, le=65535)] = 3306
    """Port of the server."""

    secret_arn: SecretArn
    """Secret in Secrets Manager with the keys username and password."""

    secret_kms_key_arn: KmsKeyArn | None = None
    """Key of the secret, which nodes then may use to read it; default: AWS's own key."""

    name: Annotated[
        str | None, Field(pattern=r"^[a-zA-Z0-9$_]+$", max_length=64, examples=["slurm_acct_db"])
    ] = None
    """Name of the database; default: HyperPod's."""


class MultiHead(Section):
    """Several controllers, of which one is active (customer mode only).

    They share their state on a file system, and their job records in a database outside of them.
    """

    shared_directory: MountPath = "/fsx"
    """Mounted folder under which the controllers keep their common state."""

    database_user: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_]{1,32}$", examples=["admin"])] = (
        "admin"
    )
    """User of a database of your own, where its secret names none."""

    sns_topic_arn: Annotated[
        str | None,
        Field(
            pattern=r"^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$",
            examples=["arn:aws:sns:us-west-2:123456789012:slurm-failover"],
        ),
    ] = None
    """Topic that is told when another controller takes over."""


class Slurm(Section):
    """Settings of the scheduler. HyperPod itself writes node, partition and controller lines."""

    accounting: bool = True
    """Keep job records in a database, so that `sacct` answers."""

    accounting_database: AccountingDatabase | None = None
    """A database server of your own; default: one on the controller."""

    rds: Rds | None = None
    """A database server that slurmpod makes, in a stack of its own."""

    multi_head: MultiHead | None = None
    """Several controllers: the controller group then has a count of 2 or more."""

    config_strategy: Literal["Overwrite", "Managed", "Merge"] | None = None
    """What HyperPod does with manual changes of slurm.conf (extended and managed modes)."""

    partitions: tuple[Partition, ...] = ()
    """Limits of partitions, which the groups name."""

    qos: tuple[Qos, ...] = ()
    """Qualities of service: named limits and priorities for jobs."""

    accounts: tuple[Account, ...] = ()
    """Accounts to which jobs are charged."""

    fair_share: FairShare | None = None
    """How priorities of jobs are computed; default: first come, first served."""

    settings: dict[SettingName, SettingValue] = Field(default_factory=dict)
    """Other parameters of slurm.conf that HyperPod leaves to you, such as SlurmdTimeout."""
