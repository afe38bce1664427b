"""Exclusions from unattended upgrades: packages that must match each other, and what jobs need.

The Lustre client and the drivers of accelerators are built for one kernel: a node that boots a
newer one has neither. Ubuntu's image upgrades itself, and needrestart restarts services whose
libraries are new. New versions come with a new image (UpdateClusterSoftware).

Sources: README of unattended-upgrades (Package-Blacklist takes regular expressions), needrestart's
README.Options.md and needrestart.conf (override_rc, conf.d).
"""

from __future__ import annotations

from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Role

APT_PATH = "/etc/apt/apt.conf.d/99slurmpod"
HELD = """
    linux-
    lustre-
    nvidia-
    libnvidia-
    cuda
    datacenter-gpu-manager
    aws-neuron
    efa
    libfabric
    slurm
    munge
    libmunge
    docker
    containerd
    enroot
"""
"""Prefixes of package names."""

_LISTED = "\n".join(f'    "{name}";' for name in HELD.split())
APT_TEXT = f"""\
// Written by slurmpod's lifecycle scripts.
Unattended-Upgrade::Package-Blacklist {{
{_LISTED}
}};
Unattended-Upgrade::Automatic-Reboot "false";
"""

NEEDRESTART_PATH = "/etc/needrestart/conf.d/slurmpod.conf"
NEEDRESTART_TEXT = """\
# Written by slurmpod's lifecycle scripts.
$nrconf{override_rc}{qr(^(slurm|munge|mariadb|docker|containerd|sssd))} = 0;
"""


class UnattendedUpgrades(NodeStep):
    """Kernel, Lustre client, drivers and Slurm's services stay as the image has them."""

    name = "unattended_upgrades"
    roles = frozenset(Role)
    required = False

    def is_done(self) -> bool:
        """Return whether apt and needrestart are configured."""
        machine = self.node.machine
        files = {APT_PATH: APT_TEXT, NEEDRESTART_PATH: NEEDRESTART_TEXT}
        return all(machine.read(path) == text for path, text in files.items())

    def apply(self) -> str:
        """Write both files, which apt and needrestart read whenever they run."""
        self.node.machine.write(APT_PATH, APT_TEXT)
        self.node.machine.write(NEEDRESTART_PATH, NEEDRESTART_TEXT)
        return "kernel, drivers and Slurm change only with a new image"
