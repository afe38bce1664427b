"""`python3 -m slurmpod_lifecycle.renew_password`: give slurmdbd the password from the secret.

RDS rotates its user's password every seven days, in the server and in the secret, without a
notification. slurmdbd reads its configuration only at its start. A timer runs this program;
meanwhile slurmctld holds the job records and sends them when slurmdbd is back.
"""

from __future__ import annotations

import re
import sys

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import SETTINGS, load_settings
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.stored_secret import account_lines, credentials
from slurmpod_lifecycle.units import knows_its_files, write_for

ACCOUNT_LINE = re.compile(r"\s*Storage(User|Pass)\s*=", re.IGNORECASE)


def main(machine: Machine) -> int:
    """Read the secret, update slurmdbd.conf if it differs, and return the exit status."""
    try:
        database = load_settings(SETTINGS).database
        if database and renew(machine, account_lines(credentials(machine, database))):
            sys.stdout.write("slurmdbd was started again with what the secret says now\n")
    except StepFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def renew(machine: Machine, account: str) -> bool:
    """Make slurmdbd connect with `account`; return whether it had to be restarted.

    It is also restarted after a failure: it may have started when the server already had the new
    password and the secret still the old one.
    """
    text = machine.read(slurm.SLURMDBD_CONF)
    if text is None:
        return False
    renewed = with_account(text, account)
    write_for(machine, "slurmdbd", slurm.SLURMDBD_CONF, renewed, mode=0o600, owner=slurm.USER)
    has_failed = machine.succeeds("systemctl", "is-failed", "--quiet", "slurmdbd")
    if not has_failed and knows_its_files(machine, "slurmdbd"):
        return False
    units.start(machine, "slurmdbd", restart=True, wait=False)
    return True


def with_account(text: str, account: str) -> str:
    """Return slurmdbd.conf with its login lines replaced by these."""
    kept = [line for line in text.splitlines() if not ACCOUNT_LINE.match(line)]
    return "".join(f"{line}\n" for line in kept) + account


if __name__ == "__main__":
    sys.exit(main(Machine()))
