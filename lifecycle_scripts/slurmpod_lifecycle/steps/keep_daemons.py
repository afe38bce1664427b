"""Restarts slurmctld and slurmdbd when they die.

Not every image's units are known to have `Restart=`: a controller that crashed, or was killed for
its memory, would stay down until someone notices. Running jobs continue without it, but none
starts. Both keep their state on disk; nothing is lost when they restart.
"""

from __future__ import annotations

from slurmpod_lifecycle import units
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Role

DAEMONS = ("slurmctld", "slurmdbd")

DROP_IN = """\
[Unit]
StartLimitIntervalSec=0

[Service]
Restart=on-failure
RestartSec=2
"""


class KeepDaemons(NodeStep):
    """systemd restarts the controller's daemons, without a limit, unless a user stopped them."""

    name = "keep_daemons"
    roles = frozenset({Role.CONTROLLER})

    def is_done(self) -> bool:
        """Return whether both units have the drop-in, and systemd has read it."""
        machine = self.node.machine
        are_written = all(machine.read(_path(unit)) == DROP_IN for unit in DAEMONS)
        return are_written and not units.is_outdated(machine, *DAEMONS)

    def apply(self) -> str:
        """Write the drop-ins; running units get them without a restart."""
        for unit in DAEMONS:
            self.node.machine.write(_path(unit), DROP_IN)
        units.reload_if_needed(self.node.machine, *DAEMONS)
        return f"{' and '.join(DAEMONS)} are started again when they die"


def _path(unit: str) -> str:
    """Return a drop-in next to those of other steps, which may have other purposes."""
    return units.drop_in_path(unit).replace("slurmpod.conf", "slurmpod-restart.conf")
