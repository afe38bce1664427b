"""The controller daemon: started once HyperPod has written slurm.conf, which it does late.

slurm.conf belongs to HyperPod. The scripts add one line to it, `include accounting.conf`, before
the daemon's first start; Slurm sends files that are included by a bare name to configless nodes.

The lines of partitions and nodes may come minutes later. The daemon starts without them, so that
only what needs them waits, and `slurm_settings` makes it read them when they exist.
"""

from __future__ import annotations

import re

from slurmpod_lifecycle import slurm, units
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.units import knows_its_files, note_change

INCLUDE = "include accounting.conf"
AGENT_LOG = "/var/log/aws/clusters/sagemaker-cluster-agent.log"
CHANGED_JUST_NOW = ("find", slurm.SLURM_CONF, "-newermt", "-30 seconds")
"""Prints the file's name if it was written in the last half minute."""


class Slurmctld(NodeStep):
    """slurmctld runs and answers."""

    name = "slurmctld"
    roles = frozenset({Role.CONTROLLER})
    modes = frozenset({Mode.CUSTOMER})
    needs = (
        "bar_daemons",
        "shared_state",
        "accounting",
        "slurm_settings",
        "containers",
        "topology",
        "users",
        "sssd",
    )

    def is_done(self) -> bool:
        """Return whether it runs with the whole configuration; raises NotYet until it is up."""
        text = self.node.machine.read(slurm.SLURM_CONF) or ""
        if self._lacks_accounting(text) or not units.is_running(self.node.machine, "slurmctld"):
            return False
        slurm.check_slurmctld(self.node.machine)
        return True

    def apply(self) -> str:
        """Wait for slurm.conf, complete it, start the daemon and wait for its answer."""
        machine = self.node.machine
        text = complete_slurm_conf(self.node)
        if self._lacks_accounting(text):
            note_change(machine, "slurmctld")
            machine.append(slurm.SLURM_CONF, INCLUDE)
        units.start(machine, "slurmctld", restart=not knows_its_files(machine, "slurmctld"))
        slurm.check_slurmctld(machine)
        return f"slurmctld is up on {self.node.name}"

    def _lacks_accounting(self, slurm_conf: str) -> bool:
        return self.node.settings.accounting and not includes_accounting(slurm_conf)


def complete_slurm_conf(node: Node) -> str:
    """Return the text of slurm.conf; raises NotYet until it is complete and names this controller.

    The file counts as complete when it has a partition, as those lines come last, or when it was
    not written for a while.
    """
    fix = f"HyperPod's cluster agent writes it: look at {AGENT_LOG} on the controller"
    text = node.machine.read(slurm.SLURM_CONF)
    if text is None:
        raise NotYet(f"there is no {slurm.SLURM_CONF}", fix)
    hosts = slurm.values(text, "SlurmctldHost")
    known_as = {node.instance.address, node.name}
    if not any(known_as & set(re.split(r"[()]", host)) for host in hosts):
        named = ", ".join(hosts) or "no controller"
        reason = f"{slurm.SLURM_CONF} names {named}, not this node ({node.instance.address})"
        raise NotYet(reason, fix)
    if not slurm.values(text, "PartitionName") and node.machine.run(*CHANGED_JUST_NOW).strip():
        raise NotYet(f"{slurm.SLURM_CONF} has no partition yet, and has just been written to", fix)
    return text


def includes_accounting(slurm_conf: str) -> bool:
    """Return whether slurm.conf includes accounting.conf, however it is written."""
    pattern = r"^\s*include\s+(\S*/)?accounting\.conf\s*$"
    return re.search(pattern, slurm_conf, re.IGNORECASE | re.MULTILINE) is not None
