"""Undoes a drain of the health checks once the fault is gone: a new instance does not inherit it.

Slurm knows nodes by name, and HyperPod gives the name to the instance that replaces a bad one. Only
drains of the health checks, known by their reason, are undone, and only if all checks pass. The
finding of a check of idle nodes stays, as the health checks cannot see that fault.
"""

from __future__ import annotations

from slurmpod_health.node_state import read_state
from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.health_programs import COMMAND
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import CommandFailed

FIX = "run 'slurmpod-health' on the node for what is wrong with it, or have it replaced"


class BackInService(NodeStep):
    """A good worker takes jobs, although it, or the instance before it, had drained itself."""

    name = "back_in_service"
    roles = frozenset({Role.WORKER})
    needs = ("health_checks", "self_check")
    required = False
    timeout_seconds = 60.0

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables health checks."""
        return super().applies_to(node) and node.settings.node.health_checks

    def is_done(self) -> bool:
        """Return whether the checks have not drained this node, if Slurm knows it already."""
        show = ("--oneliner", "show", "node", self.node.name)
        try:
            state = read_state(slurm.command(self.node.machine, "scontrol", *show))
        except CommandFailed:
            return True
        return not (state and state.is_drained_by_health)

    def apply(self) -> str:
        """Let the checks undo the drain; raises NotYet while one of them fails."""
        self.node.machine.run(COMMAND, "--resume", fix=FIX)
        return f"{self.node.name} takes jobs: its checks pass"
