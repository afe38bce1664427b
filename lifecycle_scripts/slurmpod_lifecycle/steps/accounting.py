"""Job records: slurmdbd on the controller, before slurmctld starts for the first time.

Required if the environment enables it. A slurmctld that starts without accounting creates its own
cluster id and refuses to start once accounting is there (CLUSTER ID MISMATCH), so a clear failure
now costs less than a cluster without records.

The database is MariaDB on the same node, or a server outside the cluster. HyperPod's image has
MariaDB; other images get the distribution's. It needs no password: slurmdbd runs as the user
`slurm`, whom MariaDB authenticates through its socket (unix_socket authentication). The last backup
of an earlier controller's records is loaded before slurmdbd starts, and job numbers continue after
those: sacct shows only the latest job of a number. Several controllers each run slurmdbd: one is
active, the other is a standby.
"""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.kept_records import DATABASE, last_job, restore
from slurmpod_lifecycle.node import Node, NodeStep, slurm_name
from slurmpod_lifecycle.packages import install
from slurmpod_lifecycle.settings import Mode, Role, Settings
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.shared_state import TAKEOVER_PROGRAM
from slurmpod_lifecycle.stored_secret import account_lines, credentials
from slurmpod_lifecycle.units import knows_its_files, write_for

ACCOUNTING_CONF = f"{slurm.CONFIGURATION}/accounting.conf"
PACKAGE = "mariadb-server"
WITHOUT_DATABASE = (
    "use an image that has MariaDB, name a database under slurm.accounting_database, or set"
    " slurm.accounting: false"
)

OURS = "# Written by slurmpod's lifecycle scripts; included by slurm.conf.\n"
FIRST_JOB = "FirstJobId="
MOST_JOBS = 0x03FF0000
"""Slurm counts jobs from 1 again after this number, unless MaxJobId says otherwise (slurm.conf)."""

ENCRYPTED = "SSL_CIPHER=HIGH"
"""What makes slurmdbd encrypt its connection. MariaDB's client library does so when any parameter
of TLS is given, and only then before its version 3.4. Of these, a cipher is the only one without a
file: the image has no certificates of RDS's own authorities, which SSL_CA would need."""

SQL = f"""\
CREATE DATABASE IF NOT EXISTS {DATABASE};
CREATE USER IF NOT EXISTS {slurm.USER}@localhost IDENTIFIED VIA unix_socket;
ALTER USER {slurm.USER}@localhost IDENTIFIED VIA unix_socket;
GRANT ALL PRIVILEGES ON {DATABASE}.* TO {slurm.USER}@localhost;
"""


class Accounting(NodeStep):
    """A database for job records, and slurmdbd in front of it."""

    name = "accounting"
    roles = frozenset({Role.CONTROLLER})
    modes = frozenset({Mode.CUSTOMER})
    needs = ("image_facts",)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is the controller of an environment with accounting."""
        return super().applies_to(node) and node.settings.accounting

    def is_done(self) -> bool:
        """Return whether slurmdbd answers with this configuration, whatever its password."""
        machine, settings = self.node.machine, self.node.settings
        addresses = self.node.controller_addresses()
        return (
            (machine.read(slurm.SLURMDBD_CONF) or "").startswith(slurmdbd_conf(settings, addresses))
            and (machine.read(ACCOUNTING_CONF) or "").startswith(
                accounting_conf(settings, addresses)
            )
            and (settings.database is not None or units.is_running(machine, "mariadb"))
            and self._serves()
        )

    def apply(self) -> str:
        """Create slurmdbd's account in the database or read it from the secret; start slurmdbd."""
        machine, settings = self.node.machine, self.node.settings
        addresses = self.node.controller_addresses()
        account = self._given_account() if settings.database else self._local_account()
        included = accounting_conf(settings, addresses) + self._first_job()
        write_for(machine, "slurmctld", ACCOUNTING_CONF, included)
        text = slurmdbd_conf(settings, addresses) + account
        write_for(machine, "slurmdbd", slurm.SLURMDBD_CONF, text, mode=0o600, owner=slurm.USER)
        is_old = not knows_its_files(machine, "slurmdbd")
        units.start(machine, "slurmdbd", restart=is_old, wait=not self._stands_by())
        if self._stands_by():
            return f"slurmdbd is a standby of the one on {addresses[0]}"
        if not machine.answers("localhost", slurm.SLURMDBD_PORT):
            reason = f"slurmdbd does not answer: {units.last_error(machine, 'slurmdbd')}"
            raise NotYet(reason, "look at /var/log/slurm/slurmdbd.log on the controller")
        host = settings.database.endpoint if settings.database else "this node"
        return f"slurmdbd keeps job records in a database on {host}"

    def _serves(self) -> bool:
        machine = self.node.machine
        if self._stands_by():
            return units.is_expected(machine, "slurmdbd")
        return units.is_running(machine, "slurmdbd") and machine.answers(
            "localhost", slurm.SLURMDBD_PORT
        )

    def _stands_by(self) -> bool:
        """Return whether this is the second controller: its slurmdbd is a standby."""
        return self.node.instance.address != self.node.controller_addresses()[0]

    def _local_account(self) -> str:
        machine = self.node.machine
        if not machine.succeeds("systemctl", "cat", "mariadb"):
            self._install_database()
        settings = self.node.settings
        units.start(machine, "mariadb")
        machine.run("mariadb", text=SQL)
        if settings.records_backup:
            restore(machine, settings.records_backup, settings.region)
        return f"StorageUser={slurm.USER}\n"

    def _first_job(self) -> str:
        """Return the line with the number of the first job, which only a new slurmctld reads."""
        if self.node.settings.database:
            return ""
        head, *lines = (self.node.machine.read(ACCOUNTING_CONF) or "\n").splitlines(keepends=True)
        if head == OURS:
            return "".join(line for line in lines if line.startswith(FIRST_JOB))
        first = last_job(self.node.machine) + 1
        return f"{FIRST_JOB}{first}\n" if 1 < first < MOST_JOBS else ""

    def _install_database(self) -> None:
        """Install MariaDB; raises StepFailed if it is not available."""
        if not self.node.settings.node.has_way_out:
            raise StepFailed(
                "MariaDB is not on this image, and the network is closed", WITHOUT_DATABASE
            )
        install(self.node.machine, PACKAGE, fix=WITHOUT_DATABASE)

    def _given_account(self) -> str:
        assert self.node.settings.database  # noqa: S101  # checked by the caller
        return account_lines(credentials(self.node.machine, self.node.settings.database))


def slurmdbd_conf(settings: Settings, controllers: Sequence[str]) -> str:
    """Return slurmdbd.conf without its last lines, the database login."""
    database = settings.database
    hosts = ["DbdHost=localhost"]
    if settings.multi_head:
        first, second = controllers[:2]
        hosts = [f"DbdHost={slurm_name(first)}", f"DbdAddr={first}"]
        hosts += [f"DbdBackupHost={slurm_name(second)}"]
    storage = ["StorageHost=localhost", f"StorageLoc={DATABASE}"]
    if database:
        storage = [f"StorageHost={database.endpoint}", f"StoragePort={database.port}"]
        storage += [f"StorageLoc={database.name}"]
        storage += [f"StorageParameters={ENCRYPTED}"] if database.requires_tls else []
    lines = [
        "# Written by slurmpod's lifecycle scripts.",
        "AuthType=auth/munge",
        *hosts,
        f"SlurmUser={slurm.USER}",
        "LogFile=/var/log/slurm/slurmdbd.log",
        "StorageType=accounting_storage/mysql",
        *storage,
    ]
    return "".join(f"{line}\n" for line in lines)


def accounting_conf(settings: Settings, controllers: Sequence[str]) -> str:
    """Return accounting.conf: the addresses, as commands on other nodes need them too."""
    backup = [f"AccountingStorageBackupHost={address}" for address in controllers[1:2]]
    if settings.multi_head and not settings.slurm.partitions:  # else slurmpod.conf has it
        backup += [f"SlurmctldPrimaryOnProg={TAKEOVER_PROGRAM}"]
    lines = [
        OURS.rstrip(),
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={controllers[0]}",
        *backup,
        "JobAcctGatherType=jobacct_gather/linux",
    ]
    return "".join(f"{line}\n" for line in lines)
