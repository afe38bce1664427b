"""Job records as HyperPod's image sets them up: slurmdbd on the controller, and its database.

The database is MariaDB on the controller, or one outside the cluster that the API names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from embedded_aws.cluster import AccountingDatabase, ClusterFailed
from slurmpod.aws.gateway import Gateway
from slurmpod.rehearsal.hyperpod.node_commands import put_file, run_script
from slurmpod.rehearsal.hyperpod.slurm_conf import SLURM_ETC
from slurmpod.rehearsal.nodes.machines import Machines

LOCAL_DATABASE = "slurm_acct_db"
_SQL = f"""\
CREATE DATABASE IF NOT EXISTS {LOCAL_DATABASE};
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL PRIVILEGES ON {LOCAL_DATABASE}.* TO slurm@localhost;
"""


_START = "systemctl enable --quiet --now slurmdbd || systemctl start slurmdbd"
"""With libmariadb 11.8.9 of Debian 13 the connection that has just made the database refuses every
query ("exceeds maximum allowed number of columns (=0)"). The next start finds the database."""


@dataclass(frozen=True)
class Storage:
    """Where slurmdbd keeps its records; without a password MariaDB asks who the process is."""

    host: str
    port: int
    name: str
    user: str
    password: str | None


LOCAL_STORAGE = Storage("localhost", 3306, LOCAL_DATABASE, "slurm", None)


def storage_of(gateway: Gateway, database: AccountingDatabase | None) -> Storage:
    """Return where job records go; raises ClusterFailed for a secret that does not tell who may.

    The secret is JSON with `username` and `password`, as RDS writes it.
    """
    if database is None:
        return LOCAL_STORAGE
    user, password = credentials(gateway, database.secret_arn)
    return Storage(database.endpoint, database.port, database.name, user, password)


def credentials(gateway: Gateway, secret_arn: str) -> tuple[str, str]:
    """Return user and password from a secret; raises ClusterFailed when it has others."""
    try:
        secret = json.loads(gateway.secret(secret_arn))
        return str(secret.get("username", "")), str(secret["password"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ClusterFailed(
            f"The secret {secret_arn} is not JSON with username and password."
        ) from None


def start_accounting(
    machines: Machines, hostname: str, controller_address: str, storage: Storage
) -> None:
    """Start slurmdbd, and its database where that is local; raises ClusterFailed."""
    if storage.password is None:
        run_script(machines, hostname, "systemctl enable --quiet --now mariadb")
        run_script(machines, hostname, "mariadb", stdin=_SQL.encode())
    put_file(
        machines, hostname, f"{SLURM_ETC}/accounting.conf", accounting_conf(controller_address)
    )
    put_file(
        machines,
        hostname,
        f"{SLURM_ETC}/slurmdbd.conf",
        slurmdbd_conf(storage),
        mode=0o600,
        owner="slurm",
    )
    run_script(machines, hostname, _START)


def accounting_conf(controller_address: str) -> bytes:
    """Return what slurm.conf includes: the address, as commands on other nodes need it too."""
    return _text(
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={controller_address}",
        "JobAcctGatherType=jobacct_gather/linux",
    )


def slurmdbd_conf(storage: Storage) -> bytes:
    """Return slurmdbd.conf, which only Slurm's own user may read: it may hold a password."""
    return _text(
        "AuthType=auth/munge",
        "DbdHost=localhost",
        "SlurmUser=slurm",
        "LogFile=/var/log/slurm/slurmdbd.log",
        "StorageType=accounting_storage/mysql",
        f"StorageHost={storage.host}",
        f"StoragePort={storage.port}",
        f"StorageUser={storage.user}",
        f"StorageLoc={storage.name}",
        *([] if storage.password is None else [f"StoragePass={_escaped(storage.password)}"]),
    )


def _escaped(value: str) -> str:
    """Return a value as Slurm's configuration files take it: # begins a comment there."""
    return '"' + value.replace("\\", r"\\").replace("#", r"\#") + '"'


def _text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
