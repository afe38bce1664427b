"""Database servers of job records that a rehearsal runs."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface
from types import MappingProxyType

from slurmpod.aws.gateway import DatabaseServer, Gateway
from slurmpod.rehearsal.hyperpod.node_commands import run_script
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.machines import Machines
from slurmpod.rehearsal.nodes.spec import File, MachineSpec
from slurmpod.rehearsal.state import Journal

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
"""What RDS's own user may do (RDS user guide, MariaDB security on Amazon RDS)."""


class DatabaseServers:
    """The machines of all servers of RDS in a rehearsal."""

    def __init__(self, machines: Machines, gateway: Gateway, journal: Journal) -> None:
        self._machines = machines
        self._gateway = gateway
        self._journal = journal
        self._running: dict[str, DatabaseServer] = {}
        self._one_at_a_time = threading.Lock()

    def follow(self) -> None:
        """Boot the machines of new servers and take away those of deleted ones.

        Raises MachineFailed and ClusterFailed.
        """
        with self._one_at_a_time:
            there = {server.identifier: server for server in self._gateway.database_servers()}
            for identifier in self._running.keys() - there:
                stop_machine(self._machines, machine_of(identifier))
                del self._running[identifier]
            for identifier in sorted(there.keys() - self._running):
                self._start(there[identifier])
                self._running[identifier] = there[identifier]

    def serve(self, endpoint: str) -> bool:
        """Tell whether one of them answers at `endpoint`."""
        return any(server.endpoint == endpoint for server in self._running.values())

    def _start(self, server: DatabaseServer) -> None:
        secret = json.loads(self._gateway.secret(server.secret_arn))
        start_database(
            self._machines,
            machine_of(server.identifier),
            address=f"{server.private_ip}/{server.subnet_cidr.partition('/')[2]}",
            access=DatabaseAccess(
                server.endpoint, server.port, secret["username"], secret["password"]
            ),
            privileges=", ".join(RDS_PRIVILEGES),
            settings={**server.parameters, "log_bin": "binary-log"},
        )
        self._journal.note(machine_of(server.identifier), f"stands for {server.endpoint}")


def machine_of(identifier: str) -> str:
    """Return the host name of the machine that stands for a server."""
    return f"rds-{identifier}"[:63].rstrip("-")


_SETTINGS_FILE = "/etc/mysql/mariadb.conf.d/99-database.cnf"
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class DatabaseAccess:
    """Where the database is expected to answer, and to whom."""

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
    """Boot the machine at `address` and open its database to the user, who has `privileges`.

    `settings` are MariaDB's own. Raises MachineFailed and ClusterFailed.
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
    """Take the machine away, with what its database holds, if it was ever booted."""
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
    """Return a string as SQL writes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
