"""Slurm's accounting database for the bare slurmctld: which accounts and QOS may be used.

The lifecycle scripts' own plans provide the sacctmgr commands, so that accounts and QOS are those
of a cluster. The user who calls sbatch is in all accounts: limits of users are not compared. The
account of jobs that name none is one that most partitions allow.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from slurmpod.bundle.slurm_settings import slurm_settings
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import NORMAL
from slurmpod_lifecycle.settings import Account
from slurmpod_lifecycle.steps.associations import NEW_QOS, account_plan, qos_plan, user_plan

CALLER = "daemon"
"""The user who calls sbatch: one of the image's users that Slurm 26.05 knows, unlike `nobody`."""

OF_SLURM_CONF: Mapping[str, str] = {
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStorageHost": "localhost",
}
SLURMDBD_CONF = """\
AuthType=auth/none
DbdHost=localhost
SlurmUser=root
PidFile=/srv/slurmdbd.pid
LogFile=/srv/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
"""
START = """
cp -a "$(dirname /var/lib/*/ibdata1)" /srv/database
mariadbd --user=root --datadir=/srv/database --skip-networking \\
    --innodb-flush-log-at-trx-commit=0 2>/srv/mariadbd.log &
until_it_is_up mariadb -e 'create database slurm_acct_db'
slurmdbd -D 2>/srv/slurmdbd.err &
until_it_is_up sh -c 'sacctmgr ping | grep -q UP'
sh -e /srv/accounts >&2 || exit 1
"""
"""The shell commands that start both; `until_it_is_up` waits for a command to succeed."""


def accounts(resolved: Resolved) -> str:
    """Return the shell commands that fill the database, before slurmctld starts and reads it."""
    wanted, here = slurm_settings(resolved), f"cluster={resolved.name}"
    plan = [
        ("add", "cluster", resolved.name),
        *qos_plan(wanted.qos, [{**NEW_QOS, "Name": NORMAL}]),
        *account_plan(wanted.accounts, [], [], here),
        *user_plan(_most_allowed_first(wanted.accounts, resolved), [CALLER], [], here),
    ]
    return "".join(f"sacctmgr --immediate --quiet {shlex.join(change)}\n" for change in plan)


def _most_allowed_first(accounts: Sequence[Account], resolved: Resolved) -> list[Account]:
    """Return the accounts; the first becomes the caller's default."""
    allowed = [each.allowed_accounts for each in resolved.slurm.partitions if each.allowed_accounts]
    return sorted(accounts, key=lambda account: sum(account.name not in each for each in allowed))
