"""Blocks the daemon that must not run on a node of this role.

The image has the units of all daemons on all nodes. slurmd's unit removes /opt/slurm/etc/slurm.conf
before it starts, as a configless node should have none: started on the controller by mistake, it
would delete the cluster's configuration.
"""

from __future__ import annotations

from slurmpod_lifecycle import units
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Role

BARRED = {Role.CONTROLLER: "slurmd", Role.LOGIN: "slurmctld", Role.WORKER: "slurmctld"}

DROP_IN = """\
# This daemon must not run on this node: an assertion that never holds prevents every start.
[Unit]
AssertPathExists=/run/this-daemon-must-not-run-on-this-node
"""


class BarDaemons(NodeStep):
    """slurmd can never start on the controller, slurmctld never on another node."""

    name = "bar_daemons"
    roles = frozenset(Role)

    def is_done(self) -> bool:
        """Return whether systemd knows the drop-in, and the unit is off, now and after a reboot."""
        unit, machine = BARRED[self.node.role], self.node.machine
        is_written = machine.read(units.drop_in_path(unit)) == DROP_IN
        is_known = is_written and not units.is_outdated(machine, unit)
        return is_known and units.is_off(machine, unit)

    def apply(self) -> str:
        """Write the drop-in first, then stop and disable the unit."""
        unit, machine = BARRED[self.node.role], self.node.machine
        units.add_drop_in(machine, unit, DROP_IN)
        if not units.is_off(machine, unit):
            machine.run("systemctl", "disable", "--quiet", "--now", unit)
        return f"{unit} cannot start on this node"
