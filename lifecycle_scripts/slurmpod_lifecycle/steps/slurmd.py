"""The node daemon of login and worker nodes: it fetches its configuration from the controller.

A login node runs it too: commands there use the configuration that it keeps.

The node lines of a group that UpdateCluster added appear in slurm.conf some minutes after the
scripts of its nodes ended. Without its line slurmd ends at once; that is no failure, as systemd
starts it again until it is listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.failures import NotYet
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Role

if TYPE_CHECKING:
    from slurmpod_lifecycle.machine import Machine


class Slurmd(NodeStep):
    """slurmd runs, configless, with the controller's address."""

    name = "slurmd"
    roles = frozenset({Role.LOGIN, Role.WORKER})
    needs = ("bar_daemons", "mount_fsx")

    def is_done(self) -> bool:
        """Tell whether it runs and asks the right controller."""
        machine = self.node.machine
        written = machine.read(units.drop_in_path("slurmd"))
        return written == self._drop_in() and units.is_running(machine, "slurmd")

    def apply(self) -> str:
        """Wait for the controller, then start the daemon."""
        machine, address = self.node.machine, self.node.controller_address()
        if not machine.answers(address, slurm.SLURMCTLD_PORT):
            raise NotYet(
                f"the controller does not answer at {address}:{slurm.SLURMCTLD_PORT}",
                "look at the controller's log: its slurmctld has to start first",
            )
        changed = units.add_drop_in(machine, "slurmd", self._drop_in())
        try:
            units.start(machine, "slurmd", anew=changed)
        except NotYet:
            if not_listed(machine):
                return f"warning: slurm.conf does not list {self.node.name} yet; slurmd tries again"
            raise
        return f"slurmd gets its configuration from {address}"

    def _drop_in(self) -> str:
        mount_path = self.node.settings.file_system.mount_path
        escape = ("systemd-escape", "--path", "--suffix=mount", mount_path)
        return drop_in(self.node.controller_address(), self.node.machine.run(*escape).strip())


def not_listed(machine: Machine) -> bool:
    """Tell whether slurmd stopped because slurm.conf has no node line for this node."""
    return "Unable to determine this slurmd's NodeName" in units.last_error(machine, "slurmd")


def drop_in(controller_address: str, mount_unit: str) -> str:
    """Return what slurmd's unit needs beyond the image's.

    It is started again without end, and after a reboot not before the shared file system. The
    option is one word, which systemd passes on as one however the unit refers to it.
    """
    return f"""\
[Unit]
Wants={mount_unit}
After={mount_unit}
StartLimitIntervalSec=0

[Service]
Environment=SLURMD_OPTIONS=--conf-server={controller_address}:{slurm.SLURMCTLD_PORT}
Restart=on-failure
RestartSec=5
"""
