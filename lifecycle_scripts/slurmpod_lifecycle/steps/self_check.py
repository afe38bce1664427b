"""The last step: a check of the node's role from the outside, independent of the other steps.

It is never done in advance, so running the scripts again checks a live node.
"""

from __future__ import annotations

from slurmpod_health.node_state import read_state
from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.steps.mount_fsx import check_usable
from slurmpod_lifecycle.steps.slurmd import not_listed

POWERED_OFF = {"POWERED_DOWN", "POWERING_UP", "POWERING_DOWN"}

FIX = (
    "remove the reason, then run 'scontrol update nodename=... state=resume'; 'slurmd -C' on the"
    " node shows what its NodeName line in slurm.conf should say"
)

GRES_FIX = (
    "HyperPod's agent declares them: look at GresTypes in slurm.conf, at Gres in its node line, and"
    " at gres.conf; use an image of HyperPod from August 2024 or later"
)


class SelfCheck(NodeStep):
    """The file systems can be used, and Slurm works as far as this node is concerned."""

    name = "self_check"
    roles = frozenset(Role)
    needs = (
        "mount_fsx",
        "users",
        "logins",
        "sssd",
        "homes",
        "bar_daemons",
        "job_bound_ssh",
        "keep_daemons",
        "shared_state",
        "accounting",
        "database_password",
        "slurm_settings",
        "containers",
        "topology",
        "slurmctld",
        "shared_configuration",
        "associations",
        "partitions",
        "slurmd",
    )

    def apply(self) -> str:
        """Check the requirements of the role; raises NotYet for any that is not met."""
        for file_system in self.node.settings.file_systems:
            check_usable(self.node, file_system)
        if self.node.role is Role.CONTROLLER:
            return self._check_controller()
        if self.node.role is Role.LOGIN and self.node.settings.mode is Mode.EXTENDED:
            return self._check_commands()  # HyperPod's choice of daemon
        if not units.is_running(self.node.machine, "slurmd"):
            return self._explain_stopped_slurmd()
        return self._check_commands() if self.node.role is Role.LOGIN else self._check_worker()

    def _check_controller(self) -> str:
        slurm.check_slurmctld(self.node.machine)
        if not self.node.settings.accounting:
            return "slurmctld is up"
        arguments = ("--noheader", "--parsable2", "show", "cluster", "format=cluster")
        if not slurm.command(self.node.machine, "sacctmgr", *arguments).strip():
            reason = "slurmctld has not registered the cluster in the accounting database"
            raise NotYet(reason, "look at /var/log/slurm/slurmdbd.log on the controller")
        return "slurmctld is up and keeps job records"

    def _check_commands(self) -> str:
        slurm.command(self.node.machine, "sinfo", "--noheader")
        return "Slurm's commands work on this node"

    def _check_worker(self) -> str:
        arguments = ("--oneliner", "show", "node", self.node.name)
        description = slurm.command(self.node.machine, "scontrol", *arguments)
        kind = self.node.hardware.accelerator_kind if self.node.hardware else ""
        return f"{judge_node(description)}{judge_accelerators(description, kind)}"

    def _explain_stopped_slurmd(self) -> str:
        """Accept a node that waits for its line in slurm.conf; raise NotYet for other reasons."""
        if not_listed(self.node.machine):
            if self.node.role is Role.LOGIN:
                self._check_commands()
                return f"warning: slurm.conf does not list {self.node.name}; commands work"
            return f"warning: {self.node.name} joins when slurm.conf lists it"
        reason = f"slurmd does not run: {units.last_error(self.node.machine, 'slurmd')}"
        raise NotYet(reason, "run 'journalctl -u slurmd' on the node")


def judge_node(description: str) -> str:
    """Judge a worker by the output of `scontrol --oneliner show node` for it.

    Raises NotYet for a node that slurmctld has not heard of since it started, and for one that it
    rejects. One that is down nevertheless is so because of an earlier event, on this node or on the
    one that it replaces: `takes_jobs` waits for its end.
    """
    state = read_state(description)
    if state is None:
        raise NotYet("slurmctld does not list this node", FIX)
    # HyperPod's nodes are CLOUD nodes: IDLE and POWERED_DOWN before their slurmd registers.
    was_never_up = bool(state.words & POWERED_OFF) and not state.started
    if state.words & {"UNKNOWN", "NOT_RESPONDING"} or was_never_up:
        raise NotYet(f"slurmctld has not heard of this node yet ({state.text})", FIX)
    reason = state.reason or "none given"
    if "INVALID_REG" in state.words:
        raise NotYet(f"slurmctld rejects this node ({state.text}), reason: {reason}", FIX)
    if "DOWN" in state.words:
        return f"warning: Slurm holds this node down, reason: {reason}"
    return f"registered with Slurm as {state.text}"


def judge_accelerators(description: str, kind: str) -> str:
    """Check that Slurm counts a worker's accelerators; return an addition to the message.

    Raises NotYet for GPUs that Slurm does not know. HyperPod is not known to declare Neuron
    devices, and jobs on them request none: there it is only reported.
    """
    if not kind or "Gres=(null)" not in description:
        return ""
    reason = f"Slurm lists no {kind} for this node and rejects jobs that request one"
    if kind == "gpu":
        raise NotYet(reason, GRES_FIX)
    return f"; warning: {reason}"
