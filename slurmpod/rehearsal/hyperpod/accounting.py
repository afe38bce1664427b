"""Job records: slurmdbd as HyperPod's image configures it, and the database servers.

The database is MariaDB on the controller, or one outside the cluster that the API names. A
rehearsal runs the RDS servers itself.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface
from types import MappingProxyType

from embedded_aws.cluster import AccountingDatabase, ClusterFailed
from slurmpod.aws.gateway import DatabaseServer, Gateway
from slurmpod.rehearsal.hyperpod.networks import Networks
from slurmpod.rehearsal.hyperpod.node_files import put_file, run_script
from slurmpod.rehearsal.hyperpod.slurm_conf import SLURM_ETC
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.nodes.spec import File, MachineSpec
from slurmpod.rehearsal.state import Journal

LOCAL_DATABASE = "slurm_acct_db"
_SQL = f"""\
CREATE DATABASE IF NOT EXISTS {LOCAL_DATABASE};
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL PRIVILEGES ON {LOCAL_DATABASE}.* TO slurm@localhost;
"""


_START = "systemctl enable --quiet --now slurmdbd || systemctl start slurmdbd"
"""With libmariadb 11.8.9 of Debian 13 the connection that has just created the database fails all
queries ("exceeds maximum allowed number of columns (=0)"). The next start finds the database."""


@dataclass(frozen=True)
class Storage:
    """slurmdbd's database; without a password, MariaDB authenticates by the process's user."""

    host: str
    port: int
    name: str
    user: str
    password: str | None


LOCAL_STORAGE = Storage("localhost", 3306, LOCAL_DATABASE, "slurm", None)


def storage_of(gateway: Gateway, database: AccountingDatabase | None) -> Storage:
    """Return the job record database; raises ClusterFailed for a secret without credentials.

    The secret is JSON with `username` and `password`, in RDS's format.
    """
    if database is None:
        return LOCAL_STORAGE
    user, password = credentials(gateway, database.secret_arn)
    return Storage(database.endpoint, database.port, database.name, user, password)


def credentials(gateway: Gateway, secret_arn: str) -> tuple[str, str]:
    """Return user and password from a secret; raises ClusterFailed if it has another format."""
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
    """Start slurmdbd, and its database if that is local; raises ClusterFailed."""
    if storage.password is None:
        run_script(machines, hostname, "systemctl enable --quiet --now mariadb")
        run_script(machines, hostname, "mariadb", stdin=_SQL.encode())
    put_file(
        machines, hostname, f"{SLURM_ETC}/accounting.conf", accounting_conf(controller_address)
    )
    _write_slurmdbd_conf(machines, hostname, storage)
    run_script(machines, hostname, _START)


def move_accounting(machines: Machines, hostname: str, storage: Storage) -> None:
    """Move slurmdbd from the controller's database to another one; raises ClusterFailed.

    The new database keeps its contents; slurmctld sends what slurmdbd has missed.
    """
    _write_slurmdbd_conf(machines, hostname, storage)
    run_script(machines, hostname, f"systemctl stop slurmdbd; {_START}")


def _write_slurmdbd_conf(machines: Machines, hostname: str, storage: Storage) -> None:
    put_file(
        machines,
        hostname,
        f"{SLURM_ETC}/slurmdbd.conf",
        slurmdbd_conf(storage),
        mode=0o600,
        owner="slurm",
    )


def accounting_conf(controller_address: str) -> bytes:
    """Return the file that slurm.conf includes; commands on other nodes need the address, too."""
    return _text(
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={controller_address}",
        "JobAcctGatherType=jobacct_gather/linux",
    )


def slurmdbd_conf(storage: Storage) -> bytes:
    """Return slurmdbd.conf, which only SlurmUser may read: it may contain a password."""
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
    """Return a value escaped for Slurm's configuration files, where # starts a comment."""
    return '"' + value.replace("\\", r"\\").replace("#", r"\#") + '"'


def _text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


RDS_PRIVILEGES = (
    "ALTER",
    "ALTER ROUTINE",
    "CREATE",
    "CREATE ROUTINE",
    "CREATE TEMPORARY TABLES",
    "CREATE USER",
    "CREATE VIEW",
    "DELETE",
    "DROP",
    "EVENT",
    "EXECUTE",
    "INDEX",
    "INSERT",
    "LOCK TABLES",
    "PROCESS",
    "REFERENCES",
    "RELOAD",
    "SELECT",
    "SHOW DATABASES",
    "SHOW VIEW",
    "TRIGGER",
    "UPDATE",
)
"""The privileges of RDS's master user (RDS user guide, MariaDB security on Amazon RDS)."""


class DatabaseServers:
    """The machines of all RDS servers in a rehearsal, each in the network of its VPC."""

    def __init__(self, networks: Networks, gateway: Gateway, journal: Journal) -> None:
        self._networks = networks
        self._gateway = gateway
        self._journal = journal
        self._running: dict[str, DatabaseServer] = {}
        self._one_at_a_time = threading.Lock()

    def follow(self) -> None:
        """Boot machines for new servers and remove those of deleted ones.

        Raises MachineFailed and ClusterFailed.
        """
        with self._one_at_a_time:
            there = {server.identifier: server for server in self._gateway.database_servers()}
            for identifier in self._running.keys() - there:
                self._stop(self._running[identifier])
                del self._running[identifier]
            for identifier in sorted(there.keys() - self._running):
                self._start(there[identifier])
                self._running[identifier] = there[identifier]

    def serve(self, endpoint: str) -> bool:
        """Return whether one of the servers answers at `endpoint`."""
        return any(server.endpoint == endpoint for server in self._running.values())

    def _stop(self, server: DatabaseServer) -> None:
        stop_machine(self._machines_for(server), machine_of(server.identifier))
        self._networks.leave(_user(server))

    def _machines_for(self, server: DatabaseServer) -> Machines:
        return self._networks.take(server.vpc_id, _user(server)).machines

    def _start(self, server: DatabaseServer) -> None:
        secret = json.loads(self._gateway.secret(server.secret_arn))
        machines = self._machines_for(server)
        try:
            start_database(
                machines,
                machine_of(server.identifier),
                address=f"{server.private_ip}/{server.subnet_cidr.partition('/')[2]}",
                access=DatabaseAccess(
                    server.endpoint, server.port, secret["username"], secret["password"]
                ),
                privileges=", ".join(RDS_PRIVILEGES),
                settings={**server.parameters, "log_bin": "binary-log"},
            )
        except BaseException:
            self._stop(server)  # the next try boots a new machine
            raise
        self._journal.note(machine_of(server.identifier), f"serves {server.endpoint}")


def _user(server: DatabaseServer) -> str:
    """Return the name of a server as a user of its network; no cluster has such a name."""
    return f"RDS {server.identifier}"


def machine_of(identifier: str) -> str:
    """Return the host name of a server's machine."""
    return f"rds-{identifier}"[:63].rstrip("-")


_SETTINGS_FILE = "/etc/mysql/mariadb.conf.d/99-database.cnf"
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class DatabaseAccess:
    """The address at which the database must answer, and its user."""

    endpoint: str
    port: int
    user: str
    password: str


def start_database(
    machines: Machines,
    hostname: str,
    *,
    address: str,
    access: DatabaseAccess,
    privileges: str = "ALL PRIVILEGES",
    settings: Mapping[str, str] = _NO_SETTINGS,
) -> None:
    """Boot the machine at `address` and open its database to the user with `privileges`.

    `settings` are MariaDB options. Raises MachineFailed and ClusterFailed.
    """
    machines.boot(
        MachineSpec(
            hostname=hostname,
            address=IPv4Interface(address),
            files={_SETTINGS_FILE: File(_settings(access.port, settings), mode=0o644)},
            aliases=(access.endpoint,),
        )
    )
    script = "systemctl start mariadb && mariadb"
    run_script(machines, hostname, script, stdin=_grant(access, privileges))


def stop_machine(machines: Machines, hostname: str) -> None:
    """Remove the machine with its database, if it was ever booted."""
    with contextlib.suppress(MachineFailed):
        machines.power_cut(hostname)


def _settings(port: int, settings: Mapping[str, str]) -> bytes:
    given = {"bind-address": "0.0.0.0", "port": str(port), **settings}  # noqa: S104
    lines = [f"{name}={value}" for name, value in given.items()]
    return "".join(f"{line}\n" for line in ["[mariadbd]", *lines]).encode()


def _grant(access: DatabaseAccess, privileges: str) -> bytes:
    user, password = _literal(access.user), _literal(access.password)
    return (
        f"CREATE USER {user}@'%' IDENTIFIED BY {password};\n"
        f"GRANT {privileges} ON *.* TO {user}@'%' WITH GRANT OPTION;\n"
    ).encode()


def _literal(text: str) -> str:
    """Return a string as an SQL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
