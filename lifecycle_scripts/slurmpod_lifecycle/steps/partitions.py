"""Sets the limits of partitions.

slurmctld sets them at its start already, but ignores QOS and accounts that do not exist yet,
although it shows them: so they are set again whenever the scripts run.
"""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.slurm_files import LIMITS_PROGRAM
from slurmpod_lifecycle.step import CommandFailed, NotYet

FIX = f"run {LIMITS_PROGRAM} on the controller, and 'scontrol show partition'"


class Partitions(NodeStep):
    """Each partition has its limits; one that HyperPod has not listed yet gets them later."""

    name = "partitions"
    roles = frozenset({Role.CONTROLLER})
    needs = ("slurmctld", "slurm_settings", "associations")

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is the controller of an environment that limits partitions."""
        return super().applies_to(node) and bool(node.settings.slurm.partitions)

    def apply(self) -> str:
        """Run the program that sets the limits, and check the result."""
        self.node.machine.succeeds(LIMITS_PROGRAM)
        missing, differing = self._compare()
        if differing:
            raise NotYet(f"partitions without their limits: {', '.join(differing)}", FIX)
        if missing:
            names = ", ".join(missing)
            return f"warning: slurm.conf has no partition {names} yet; its limits are set later"
        return "partitions have their limits"

    def _compare(self) -> tuple[list[str], list[str]]:
        """Return the partitions that do not exist, and the options that differ in the others."""
        missing, differing = [], []
        for name, wanted in self.node.settings.slurm.partitions.items():
            arguments = ("--oneliner", "show", "partition", name)
            try:
                shown = slurm.command(self.node.machine, "scontrol", *arguments)
            except CommandFailed:
                missing.append(name)
            else:
                differing += [f"{name} ({option})" for option in differences(wanted, shown)]
        return missing, differing


def differences(wanted: Mapping[str, str], shown: str) -> list[str]:
    """Return the options whose values differ in `scontrol --oneliner show partition`."""
    words = (word.partition("=") for word in shown.split())
    values = {option: value for option, _, value in words}
    return [
        option
        for option, value in wanted.items()
        if set(value.split(",")) != set(values.get(option, "").split(","))
    ]
