"""Facts about this node's image, for the report: images change, and steps break with them.

The facts of HyperPod's own setup are recorded once, and the steps that change it list this step in
their `needs`; a job can query them again with `slurmpod-facts`. Missing facts never fail the node.
A Lustre client for another kernel is reported: such an image has been upgraded in part.
"""

from __future__ import annotations

import json
import re
from functools import cache, partial
from pathlib import Path

from slurmpod_lifecycle import platform_facts
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.platform_facts import IMAGE_FACTS, PYXIS, noted
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import StepFailed

OS_RELEASE = "/etc/os-release"
SLURM = "/opt/slurm"
KNOWN_SLURM = ("slurm-24.11", "slurm-25.11")
"""The targets of /opt/slurm on HyperPod's images of January and of July 2026. Rehearsals run
24.11, and 26.05 for the second, as no Debian has 25.11 (docs/fidelity.md)."""
REHEARSED_FOR = "ami-2026-07"
"""The default profile of HyperPod's image for rehearsals of these scripts."""
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
MODULES = "lustre-client-modules-"
FORM = r"${db:Status-Status} ${Package} ${Version}\n"
PROGRAM = "/usr/local/bin/slurmpod-facts"
SOURCE = Path(platform_facts.__file__).read_text(encoding="utf-8")


class ImageFacts(NodeStep):
    """A file with the versions that matter; null for missing ones."""

    name = "image_facts"
    roles = frozenset(Role)
    required = False

    def is_done(self) -> bool:
        """Return whether the file is up to date, without warnings."""
        machine = self.node.machine
        before, image = noted(machine.read(IMAGE_FACTS)), _Image(machine)
        return (
            "platform" in before
            and before == {**_facts(image), "platform": before["platform"]}
            and machine.read(PROGRAM) == _program()
            and not _kernels_of_client(image)
        )

    def apply(self) -> str:
        """Write the file and return the most important facts."""
        machine = self.node.machine
        image = _Image(machine)
        found = _facts(image)
        before = noted(machine.read(IMAGE_FACTS)).get("platform")
        first = before or platform_facts.platform_facts(image)
        machine.write(IMAGE_FACTS, json.dumps({**found, "platform": first}, indent=2) + "\n")
        machine.write(PROGRAM, _program(), mode=0o755)
        known = [f"{found[name]}" for name in ("os", "kernel", "slurm") if found[name]]
        if others := _kernels_of_client(image):
            known.append(f"warning: the Lustre client is built for {', '.join(others)}")
        if found["slurm"] and found["slurm"] not in KNOWN_SLURM:
            known.append("warning: these scripts are untested with this version of Slurm")
        return ", ".join(known) or "no facts about this image"


class _Image:
    """A machine whose image can be queried; each query runs only once."""

    def __init__(self, machine: Machine) -> None:
        self.read = machine.read
        self.said = cache(partial(_said, machine))


def _said(machine: Machine, *command: str) -> str | None:
    try:
        return machine.run(*command)
    except StepFailed:
        return None


def _program() -> str:
    return f"#!/usr/bin/python3\n{SOURCE}"


def _facts(image: _Image) -> dict[str, object]:
    """Return the facts of the image, without changes and without the network."""
    installed = _installed(image)
    return {
        "rehearsed_for": REHEARSED_FOR,
        "os": _os_name(image.read(OS_RELEASE) or ""),
        "kernel": _word(image, "uname", "--kernel-release"),
        "slurm": _folder_name(_word(image, "readlink", "--canonicalize", SLURM)),
        "nvidia_driver": _line(image, NVIDIA),
        "neuron_driver": _line(image, NEURON),
        "efa_driver": _line(image, EFA),
        "efa_installer": _line(image, EFA_INSTALLER),
        "lustre_client": _lustre_client(image),
        "pyxis": next((path for path in PYXIS if image.said("test", "-e", path) is not None), None),
        "packages": {name: installed[name] for name in PACKAGES if name in installed},
    }


def _kernels_of_client(image: _Image) -> list[str]:
    """Return the kernels that the Lustre client is built for, if none of them is running.

    Packages of its modules are named after the kernel (FSx for Lustre user guide, "Installing the
    Lustre client"); modinfo looks among the modules of the running kernel.
    """
    if _lustre_client(image):
        return []
    names = (name for name in _installed(image) if re.match(rf"{MODULES}\d", name))
    return sorted(name.removeprefix(MODULES) for name in names)


def _lustre_client(image: _Image) -> str | None:
    return _word(image, "modinfo", "--field", "version", "lustre")


def _os_name(os_release: str) -> str | None:
    for line in os_release.splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip('"')
    return None


def _folder_name(path: str | None) -> str | None:
    return path.rpartition("/")[2] if path else None


def _line(image: _Image, path: str) -> str | None:
    """Return the first line of a file, without its comment sign."""
    lines = (image.read(path) or "").splitlines()
    return lines[0].strip("# ") if lines else None


def _word(image: _Image, *command: str) -> str | None:
    return (image.said(*command) or "").strip() or None


def _installed(image: _Image) -> dict[str, str]:
    """Return the versions of all installed packages."""
    listed = image.said("dpkg-query", "--show", f"--showformat={FORM}") or ""
    lines = (line.split() for line in listed.splitlines())
    return {package: version for state, package, version in lines if state == "installed"}
