"""Checks that `srun --container-image` exists: the result of `containers`, once Slurm is up."""

from __future__ import annotations

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import CommandFailed, NotYet
from slurmpod_lifecycle.steps.slurmd import not_listed

OPTION = "--container-image"
FIX = (
    "compare plugstack.conf in /opt/slurm/etc on the controller with the one in"
    " /var/spool/slurmd/conf-cache on this node; 'scontrol reconfigure' hands it out again"
)


class ContainerOption(NodeStep):
    """srun knows the option on this node."""

    name = "container_option"
    roles = frozenset(Role)
    needs = ("containers", "slurmctld", "slurmd")
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables containers."""
        return super().applies_to(node) and node.settings.node.containers

    def apply(self) -> str:
        """Ask srun; raises NotYet while it does not know the option.

        Commands on a node that slurm.conf does not list yet do not know it: the node is listed
        minutes after the scripts have ended, so this step does not wait for it.
        """
        try:
            printed = slurm.command(self.node.machine, "srun", "--help")
        except CommandFailed as error:
            printed, why = "", error.reason
        else:
            why = f"srun knows no {OPTION} on this node"
        if OPTION in printed:
            return f"srun knows {OPTION}"
        if not units.is_running(self.node.machine, "slurmd") and not_listed(self.node.machine):
            return f"warning: slurm.conf does not list {self.node.name} yet: {why}"
        raise NotYet(why, FIX)
