"""A machine that stands for a database outside the cluster: one of RDS, or a user's own.

Any endpoint that a cluster names is served: MariaDB answers there, to the user of the cluster's
secret.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from ipaddress import IPv4Interface
from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.spec import File, MachineSpec
from slurmpod.rehearsal.platform.placing import run_script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.nodes.machines import Machines

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
