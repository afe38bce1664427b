"""Job records: MariaDB and slurmdbd on the controller, before slurmctld starts for the first time.

Required where the environment asks for it. A slurmctld that starts without its accounting keeps an
identity of its own and refuses to start once accounting is there (CLUSTER ID MISMATCH), so a clear
failure now costs less than a cluster without records.

There is no password. slurmdbd runs as the user `slurm`, and MariaDB lets that user in through its
socket (unix_socket authentication): nothing to render, store or leak.
"""

from __future__ import annotations

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.failures import NotYet, StepFailed
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role

SLURMDBD_CONF = f"{slurm.CONFIGURATION}/slurmdbd.conf"
ACCOUNTING_CONF = f"{slurm.CONFIGURATION}/accounting.conf"
DATABASE = "slurm_acct_db"

SQL = f"""\
CREATE DATABASE IF NOT EXISTS {DATABASE};
CREATE USER IF NOT EXISTS {slurm.USER}@localhost IDENTIFIED VIA unix_socket;
ALTER USER {slurm.USER}@localhost IDENTIFIED VIA unix_socket;
GRANT ALL PRIVILEGES ON {DATABASE}.* TO {slurm.USER}@localhost;
"""

SLURMDBD_TEXT = f"""\
# Written by slurmpod's lifecycle scripts.
AuthType=auth/munge
DbdHost=localhost
SlurmUser={slurm.USER}
LogFile=/var/log/slurm/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={slurm.USER}
StorageLoc={DATABASE}
"""


class Accounting(NodeStep):
    """A database for job records, and slurmdbd in front of it."""

    name = "accounting"
    roles = frozenset({Role.CONTROLLER})

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Tell whether this is the controller of an environment that wants accounting."""
        return super().applies_to(node) and node.settings.accounting

    def is_done(self) -> bool:
        """Tell whether slurmdbd answers with this configuration."""
        machine = self.node.machine
        return (
            machine.read(SLURMDBD_CONF) == SLURMDBD_TEXT
            and machine.read(ACCOUNTING_CONF) == accounting_conf(self.node.instance.address)
            and units.is_running(machine, "mariadb")
            and units.is_running(machine, "slurmdbd")
            and machine.answers("localhost", slurm.SLURMDBD_PORT)
        )

    def apply(self) -> str:
        """Start the database, make slurmdbd's account in it, start slurmdbd."""
        machine = self.node.machine
        if not machine.succeeds("systemctl", "cat", "mariadb"):
            raise StepFailed(
                "MariaDB is not on this image",
                "use a HyperPod image of January 2026 or later, or set slurm.accounting: false",
            )
        units.start(machine, "mariadb")
        machine.run("mariadb", text=SQL)
        machine.write(ACCOUNTING_CONF, accounting_conf(self.node.instance.address))
        changed = machine.write(SLURMDBD_CONF, SLURMDBD_TEXT, mode=0o600, owner=slurm.USER)
        units.start(machine, "slurmdbd", anew=changed)
        if not machine.answers("localhost", slurm.SLURMDBD_PORT):
            reason = f"slurmdbd does not answer: {units.last_error(machine, 'slurmdbd')}"
            raise NotYet(reason, "look at /var/log/slurm/slurmdbd.log on the controller")
        return f"slurmdbd keeps job records in the database {DATABASE}"


def accounting_conf(controller_address: str) -> str:
    """Return what slurm.conf includes: the address, as commands on other nodes need it too."""
    return f"""\
# Written by slurmpod's lifecycle scripts; included by slurm.conf.
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={controller_address}
JobAcctGatherType=jobacct_gather/linux
"""
