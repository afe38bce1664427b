"""Facts of this node's image, for the report: images change, and steps break with them.

Nothing is judged here, and nothing that is missing fails the node.
"""

from __future__ import annotations

import json

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.report import IMAGE_FACTS
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import StepFailed

OS_RELEASE = "/etc/os-release"
SLURM = "/opt/slurm"
NVIDIA = "/sys/module/nvidia/version"
NEURON = "/sys/module/neuron/version"
EFA = "/sys/module/efa/version"
EFA_INSTALLER = "/opt/amazon/efa_installed_packages"
"""The EFA installer writes its own version into the first line."""

PACKAGES = (
    "docker.io",
    "docker-ce",
    "containerd.io",
    "enroot",
    "nvidia-container-toolkit",
    "mount-s3",
    "aws-neuronx-dkms",
    "aws-neuronx-tools",
)
FORM = r"${db:Status-Status} ${Package} ${Version}\n"
PYXIS = (
    f"{SLURM}/lib/slurm/spank_pyxis.so",
    "/usr/local/lib/slurm/spank_pyxis.so",
    "/usr/lib/slurm/spank_pyxis.so",
)


class ImageFacts(NodeStep):
    """A file with the versions that matter; null for what is not there."""

    name = "image_facts"
    roles = frozenset(Role)
    required = False

    def is_done(self) -> bool:
        """Tell whether the file says what is true."""
        return self.node.machine.read(IMAGE_FACTS) == self._text()

    def apply(self) -> str:
        """Write the file and say the most important of it."""
        machine = self.node.machine
        machine.write(IMAGE_FACTS, self._text())
        found = facts(machine)
        known = [f"{found[name]}" for name in ("os", "kernel", "slurm") if found[name]]
        return ", ".join(known) or "nothing is known of this image"

    def _text(self) -> str:
        return json.dumps(facts(self.node.machine), indent=2) + "\n"


def facts(machine: Machine) -> dict[str, object]:
    """Return what the image has; nothing is changed, and nothing is asked of the network."""
    return {
        "os": _os_name(machine.read(OS_RELEASE) or ""),
        "kernel": _said(machine, "uname", "--kernel-release"),
        "slurm": _folder_name(_said(machine, "readlink", "--canonicalize", SLURM)),
        "nvidia_driver": _line(machine, NVIDIA),
        "neuron_driver": _line(machine, NEURON),
        "efa_driver": _line(machine, EFA),
        "efa_installer": _line(machine, EFA_INSTALLER),
        "lustre_client": _said(machine, "modinfo", "--field", "version", "lustre"),
        "pyxis": next((path for path in PYXIS if machine.succeeds("test", "-e", path)), None),
        "packages": _packages(machine),
    }


def _os_name(os_release: str) -> str | None:
    for line in os_release.splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip('"')
    return None


def _folder_name(path: str | None) -> str | None:
    return path.rpartition("/")[2] if path else None


def _line(machine: Machine, path: str) -> str | None:
    """Return the first line of a file, without the sign of a comment."""
    lines = (machine.read(path) or "").splitlines()
    return lines[0].strip("# ") if lines else None


def _said(machine: Machine, *command: str) -> str | None:
    try:
        return machine.run(*command).strip() or None
    except StepFailed:
        return None


def _packages(machine: Machine) -> dict[str, str]:
    """Return the versions of those that are installed, of all packages that dpkg knows."""
    listed = _said(machine, "dpkg-query", "--show", f"--showformat={FORM}") or ""
    found = {}
    for line in listed.splitlines():
        state, package, version = line.split()
        if state == "installed" and package in PACKAGES:
            found[package] = version
    return found
