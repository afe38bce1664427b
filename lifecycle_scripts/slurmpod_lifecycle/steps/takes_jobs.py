"""Reports a worker that Slurm holds down: it is of no use, however well it was set up.

It does not fail the node. The cause is an earlier event, on this node or on the one that it
replaces, and HyperPod would only replace it again.
"""

from __future__ import annotations

import re

from slurmpod_health.node_state import read_state
from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.report import TAKES_JOBS
from slurmpod_lifecycle.returned_nodes import HELD, is_decision
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.slurm_files import MISCOUNTED
from slurmpod_lifecycle.step import CommandFailed, NotYet, StepFailed
from slurmpod_lifecycle.steps.returned_nodes import SECONDS

LACKS_ACCELERATORS = " count reported lower than configured "
"""The reason of a drain by slurmctld: slurmd counts fewer accelerators than the node's line has."""

FIX = "remove the reason, then run 'scontrol update nodename=... state=resume' on the controller"


class TakesJobs(NodeStep):
    """Slurm does not hold this worker down; the controller resumes nodes that are back."""

    name = TAKES_JOBS
    roles = frozenset({Role.WORKER})
    needs = ("self_check", "back_in_service")
    required = False
    timeout_seconds = 3.0 * SECONDS

    def is_done(self) -> bool:
        """Return whether Slurm does not hold it down, if Slurm knows this node already."""
        return not self._reason()

    def apply(self) -> str:
        """Raise NotYet while Slurm holds this node down, StepFailed if nothing will resume it."""
        reason = self._reason()
        if not reason:
            return f"{self.node.name} takes jobs"
        is_resumed = bool(re.fullmatch(MISCOUNTED, reason)) or not is_decision(reason)
        failure = NotYet if is_resumed else StepFailed
        raise failure(f"Slurm holds this node down, reason: {reason}", FIX)

    def _reason(self) -> str:
        """Return why Slurm holds it down, or an empty text."""
        show = ("--oneliner", "show", "node", self.node.name)
        try:
            state = read_state(slurm.command(self.node.machine, "scontrol", *show))
        except CommandFailed:
            return ""
        if state is None:
            return ""
        lacks_accelerators = "DRAIN" in state.words and LACKS_ACCELERATORS in state.reason
        is_held = state.words & HELD or lacks_accelerators
        return (state.reason or "none given") if is_held else ""
