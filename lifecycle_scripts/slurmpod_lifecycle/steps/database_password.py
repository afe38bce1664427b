"""A timer that gives slurmdbd a changed password: see `renew_password`.

It does not react to errors: slurmdbd's open connections continue with the old password, so that the
first failure would be a user's query. The program is a copy of these scripts in a permanent folder;
the bundle's folder is in /tmp.
"""

from __future__ import annotations

from pathlib import Path

from slurmpod_lifecycle import units
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role

SCRIPTS = Path(__file__).parents[2]
COPIED = ("slurmpod_lifecycle", "settings.json")
FOLDER = "/usr/local/lib/slurmpod"

UNIT = "slurmpod-database-password"
TIMER = f"{UNIT}.timer"
TIMER_PATH = f"/etc/systemd/system/{TIMER}"
INTERVAL_MINUTES = 5
"""How long sacct may fail after a change of the password, once a week."""

SERVICE_TEXT = f"""\
# Written by slurmpod's lifecycle scripts.
[Unit]
Description=Update the database password of slurmdbd
After=network-online.target

[Service]
Type=oneshot
Environment=PYTHONDONTWRITEBYTECODE=1
WorkingDirectory={FOLDER}
ExecStart=/usr/bin/env python3 -m slurmpod_lifecycle.renew_password
"""

TIMER_TEXT = f"""\
# Written by slurmpod's lifecycle scripts.
[Unit]
Description=Check the database password for changes

[Timer]
OnActiveSec={INTERVAL_MINUTES}min
OnUnitInactiveSec={INTERVAL_MINUTES}min

[Install]
WantedBy=timers.target
"""


class DatabasePassword(NodeStep):
    """A timer that gives slurmdbd the password of a database outside the cluster."""

    name = "database_password"
    roles = frozenset({Role.CONTROLLER})
    needs = ("accounting",)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is a controller of a cluster with an outside database."""
        settings = node.settings
        return super().applies_to(node) and settings.accounting and settings.database is not None

    def is_done(self) -> bool:
        """Return whether the timer runs the current scripts."""
        machine = self.node.machine
        return (
            machine.read(units.unit_path(UNIT)) == SERVICE_TEXT
            and machine.read(TIMER_PATH) == TIMER_TEXT
            and all(machine.succeeds(*_compare(name)) for name in COPIED)
            and units.is_running(machine, TIMER)
        )

    def apply(self) -> str:
        """Copy the scripts to their permanent folder, and start the timer."""
        machine = self.node.machine
        machine.run("mkdir", "-p", FOLDER)
        for name in COPIED:
            machine.run("rm", "-rf", f"{FOLDER}/{name}")
            machine.run("cp", "-r", str(SCRIPTS / name), FOLDER)
        machine.write(TIMER_PATH, TIMER_TEXT)
        units.add_unit(machine, UNIT, SERVICE_TEXT)
        units.start(machine, TIMER, restart=True)
        return f"slurmdbd learns of a new password within {INTERVAL_MINUTES} minutes"


def _compare(name: str) -> tuple[str, ...]:
    kept = f"{FOLDER}/{name}"
    return ("diff", "-rq", "--exclude=__pycache__", str(SCRIPTS / name), kept)
