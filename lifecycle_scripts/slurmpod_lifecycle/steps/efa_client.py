"""Lustre's client over EFA, for file systems with EFA and instance types that have it.

Optional: without it the data go over TCP, slower, and the report says why. Nothing is installed:
FSx's client with EFA and the EFA driver are on the image (FSx for Lustre user guide, "Configuring
EFA clients": Ubuntu 22.04 or newer with kernel 6.8 or newer), or they are not. An image that
configures its client with FSx's own service keeps that.
"""

from __future__ import annotations

from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import PRODUCT_NAME, Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.units import BootProgram

UNIT = "slurmpod-efa-client"
UNIT_OF_FSX = "configure-efa-fsx-lustre-client"
"""The service that the setup script in FSx's documentation installs."""

UNIT_LINES = """\
Description=EFA interfaces for Lustre's client
Wants=network-online.target
After=network-online.target"""
"""Mounts wait for it through their entries in /etc/fstab: see `mount_fsx`."""

WITHOUT_EFA = ("trn2.", "trn2u.")
"""Instance types with EFA that FSx does not support."""

NEEDED = {
    "lnetctl": ("which", "lnetctl"),
    "kernel module kefalnd": ("modinfo", "kefalnd"),
    "driver of EFA": ("modinfo", "efa"),
}
FIX = (
    "use an image with FSx's Lustre client for EFA (Ubuntu 22.04 or newer, kernel 6.8 or newer), or"
    " accept TCP"
)


class EfaClient(NodeStep):
    """LNet has EFA interfaces, now and after every boot, before anything is mounted."""

    name = "efa_client"
    roles = frozenset(Role)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether there is a file system with EFA, and this node can use it."""
        if not super().applies_to(node) or not any(each.efa for each in node.settings.file_systems):
            return False
        has_efa = node.hardware is not None and node.hardware.efa_interfaces > 0
        return has_efa and not _instance_type(node).startswith(WITHOUT_EFA)

    def is_done(self) -> bool:
        """Return whether the interfaces exist, and will after a reboot."""
        machine = self.node.machine
        if _image_does_it(machine):
            return units.is_running(machine, UNIT_OF_FSX)
        return self._program().is_done(machine)

    def apply(self) -> str:
        """Configure the client, now and at every boot.

        Raises StepFailed for any problem, at once: mounting waits for this step.
        """
        machine = self.node.machine
        try:
            if _image_does_it(machine):
                units.start(machine, UNIT_OF_FSX, restart=True)
                return f"Lustre goes over EFA by the image's {UNIT_OF_FSX}"
            _check_image(machine)
            self._program().start(machine)
        except NotYet as error:
            raise StepFailed(f"Lustre goes over TCP: {error.reason}", error.fix) from None
        return "Lustre goes over EFA"

    def _program(self) -> BootProgram:
        words = (self.node.instance.address, _instance_type(self.node))
        return BootProgram(UNIT, "lnet_over_efa", words, UNIT_LINES)


def _instance_type(node: Node) -> str:
    """Return EC2's type without `ml.`, or an empty text if the firmware does not have it."""
    return (node.machine.read(PRODUCT_NAME) or "").strip()


def _image_does_it(machine: Machine) -> bool:
    return machine.read(units.unit_path(UNIT_OF_FSX)) is not None


def _check_image(machine: Machine) -> None:
    missing = [what for what, command in NEEDED.items() if not machine.succeeds(*command)]
    if missing:
        raise StepFailed(f"Lustre goes over TCP: this image has no {', no '.join(missing)}", FIX)
