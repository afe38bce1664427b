"""The node's own NVMe disks as one folder, at this boot and at every other.

Optional: a node without it takes jobs, and its report says what is missing.
"""

from __future__ import annotations

from slurmpod_lifecycle import scratch_volume
from slurmpod_lifecycle.machine import source_at
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.scratch_volume import UNIT, UNIT_OF_IMAGE
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.units import BootProgram

UNIT_LINES = f"""\
Description=The NVMe disks of this node as one volume
Wants={UNIT_OF_IMAGE}.service
After={UNIT_OF_IMAGE}.service
Before=slurmd.service docker.service"""
"""The image's own service may still be running at that time; most images have none."""


class Scratch(NodeStep):
    """A world-writable volume of all instance-store disks, for nodes that have such disks."""

    name = "scratch"
    roles = frozenset(Role)
    required = False
    needs = ("image_facts",)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables it, and this instance type may have disks."""
        if not super().applies_to(node) or node.settings.node.scratch_path is None:
            return False
        return node.hardware is None or node.hardware.nvme_gb > 0

    def is_done(self) -> bool:
        """Return whether it is mounted, and will be after a reboot."""
        machine = self.node.machine
        return self._program().is_done(machine) and source_at(machine, self._folder()) is not None

    def apply(self) -> str:
        """Install and run the program that creates it, now and at every boot.

        Raises StepFailed at once: what makes disks unusable does not pass with time.
        """
        machine = self.node.machine
        if self.node.hardware is None and not scratch_volume.instance_disks(machine):
            return "this instance type has no instance-store disks"
        try:
            self._program().start(machine)
        except NotYet as error:
            raise StepFailed(error.reason, error.fix) from None
        return f"this node's disks are at {self._folder()}"

    def _program(self) -> BootProgram:
        return BootProgram(UNIT, "scratch_volume", (self._folder(),), UNIT_LINES)

    def _folder(self) -> str:
        assert self.node.settings.node.scratch_path  # noqa: S101  # checked by `applies_to`
        return self.node.settings.node.scratch_path
