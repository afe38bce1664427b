"""The servers of RDS, each a machine with a MariaDB that has its parameters and its password.

RDS has them for itself, whichever clusters come and go: a machine runs until its server is deleted,
and its records last as long.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from slurmpod.rehearsal.platform.database_server import DatabaseAccess, start_database, stop_machine

if TYPE_CHECKING:
    from slurmpod.aws.gateway import DatabaseServer, Gateway
    from slurmpod.rehearsal.journal import Journal
    from slurmpod.rehearsal.nodes.machines import Machines

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
