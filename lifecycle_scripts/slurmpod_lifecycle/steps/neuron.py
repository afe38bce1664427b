"""Neuron's commands in every user's path, and a check that the driver is loaded.

The driver and the tools belong to the image, built for each other and for its kernel: nothing is
installed, upgraded or downgraded. Jobs started by Slurm read no profile, so job scripts set what
they need themselves.
"""

from __future__ import annotations

from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet, StepFailed

PROFILE = "/etc/profile.d/slurmpod-neuron.sh"
PATH_LINES = """\
# Written by slurmpod's lifecycle scripts.
case ":$PATH:" in
    *:/opt/aws/neuron/bin:*) ;;
    *) PATH=/opt/aws/neuron/bin:$PATH ;;
esac
"""
EFA_LINES = """\
export FI_PROVIDER="${FI_PROVIDER:-efa}" FI_EFA_USE_DEVICE_RDMA="${FI_EFA_USE_DEVICE_RDMA:-1}"
"""
"""The Neuron documentation's settings for several nodes ("How to prepare trn1.32xlarge for
multi-node execution"); without EFA, libfabric would refuse to start."""

DRIVER_VERSION = "/sys/module/neuron/version"
FIX = (
    "use an image of HyperPod whose Neuron driver is made for its kernel; look at 'dmesg' on the"
    " node, and replace it if only this one is affected"
)


class Neuron(NodeStep):
    """The profile exists, and the kernel shows as many devices as the instance type has."""

    name = "neuron"
    roles = frozenset(Role)
    required = False
    timeout_seconds = 60.0

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this instance type has Neuron devices."""
        if not super().applies_to(node) or node.hardware is None:
            return False
        return node.hardware.accelerator_kind == "neuron"

    def is_done(self) -> bool:
        """Return whether the profile and all devices exist."""
        profile_is_right = self.node.machine.read(PROFILE) == self._profile()
        return profile_is_right and self._devices() >= self._wanted()

    def apply(self) -> str:
        """Write the profile; raises StepFailed without any device, NotYet while some are missing.

        A driver that has just been loaded takes a moment to show all of them.
        """
        machine, wanted = self.node.machine, self._wanted()
        machine.write(PROFILE, self._profile())
        found = self._devices()
        if not found:
            raise StepFailed("the kernel shows no Neuron device: is the driver loaded?", FIX)
        if found < wanted:
            raise NotYet(f"the kernel shows {found} of {wanted} Neuron devices", FIX)
        version = (machine.read(DRIVER_VERSION) or "unknown").strip()
        return f"{found} Neuron devices, driver {version}"

    def _profile(self) -> str:
        has_efa = self.node.hardware is not None and self.node.hardware.efa_interfaces > 0
        return PATH_LINES + (EFA_LINES if has_efa else "")

    def _wanted(self) -> int:
        return self.node.hardware.accelerators if self.node.hardware else 0

    def _devices(self) -> int:
        wanted = range(self._wanted())
        return sum(self.node.machine.succeeds("test", "-c", f"/dev/neuron{n}") for n in wanted)
