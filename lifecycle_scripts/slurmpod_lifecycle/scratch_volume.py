"""`python3 -m slurmpod_lifecycle.scratch_volume FOLDER`: a node's NVMe disks as one volume.

Only instance-store disks count, by the name of their model: never an EBS volume. Their contents are
lost when the instance is stopped or replaced (EC2 user guide, "Instance store temporary block
storage"). So this runs at every boot and creates what is missing: a striped logical volume, its
file system, the mount.

Deep Learning AMIs have such a volume already (service dlami-nvme); then a folder on it is used.
HyperPod empties that one at a reboot, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from slurmpod_lifecycle.machine import Machine, source_at
from slurmpod_lifecycle.step import StepFailed

MODEL = "Amazon EC2 NVMe Instance Storage"
LSBLK = ("lsblk", "--json", "--output", "NAME,PATH,TYPE,MODEL,FSTYPE,MOUNTPOINT")
"""With NAME, partitions and volumes are children of their disk (lsblk(8)); else the list is
flat."""

UNIT = "slurmpod-scratch"
"""The service that runs this at every boot."""

UNIT_OF_IMAGE = "dlami-nvme"

GROUP = "slurmpod"
VOLUME = f"{GROUP}/scratch"
DEVICE = f"/dev/{VOLUME}"

IMAGE_FOLDER = "/opt/dlami/nvme"
SHARED_FOLDER = f"{IMAGE_FOLDER}/scratch"
"""The folder on the image's volume, next to what the image or containers keep there."""

FORMAT = ("mkfs", "-t", "ext4", "-q", "-m", "0", "-E", "nodiscard,lazy_itable_init=1")
"""No blocks reserved for root; the disks are empty, so nothing has to be discarded."""

FIX = "look at 'lsblk --fs' on the node; disks with data are left alone"


def main(machine: Machine, folder: str) -> int:
    """Mount the volume at `folder` and return the exit status; print why if it fails."""
    try:
        sys.stdout.write(f"{mount_volume(machine, folder)}\n")
    except StepFailed as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def mount_volume(machine: Machine, folder: str) -> str:
    """Mount the volume, world-writable, unless it is mounted; return a message.

    Safe to repeat after an interruption at any point. Raises StepFailed if no disk is free.
    """
    machine.run("mkdir", "-p", folder)
    if source_at(machine, folder) is None:
        if source_at(machine, IMAGE_FOLDER):
            machine.run("mkdir", "-p", SHARED_FOLDER)
            machine.run("mount", "--bind", SHARED_FOLDER, folder)
        else:
            make_volume(machine)
            machine.run("mount", "-o", "noatime", DEVICE, folder)
    machine.run("chmod", "1777", folder)
    return f"this node's disks are at {folder}"


def make_volume(machine: Machine) -> None:
    """Create the missing parts of the logical volume. LVM itself refuses disks with data.

    (It asks whether to wipe them, and gets no answer.)
    """
    if not machine.succeeds("vgs", GROUP):
        machine.run("vgcreate", GROUP, *free_disks(instance_disks(machine)))
    if not machine.succeeds("lvs", VOLUME):
        stripes = machine.run("vgs", "--noheadings", "--options", "pv_count", GROUP).strip()
        size = ("--extents", "100%FREE", "--stripes", stripes)
        machine.run("lvcreate", "--yes", *size, "--name", VOLUME.partition("/")[2], GROUP)
    machine.run("vgchange", "--activate", "y", GROUP)
    if not machine.succeeds("blkid", "--probe", DEVICE):
        machine.run(*FORMAT, DEVICE)


def instance_disks(machine: Machine) -> list[dict[str, Any]]:
    """Return the instance-store disks, as `lsblk` describes them."""
    listed = json.loads(machine.run(*LSBLK))["blockdevices"]
    return [disk for disk in listed if (disk["model"] or "").strip() == MODEL]


def free_disks(disks: Sequence[dict[str, Any]]) -> list[str]:
    """Return the devices without partitions, file system, volume or mount; StepFailed for none."""
    free = [
        str(disk["path"])
        for disk in disks
        if not (disk["fstype"] or disk["mountpoint"] or disk.get("children"))
    ]
    if not disks:
        raise StepFailed("this node has no instance-store disk", "remove storage.scratch")
    if not free:
        names = ", ".join(str(disk["path"]) for disk in disks)
        raise StepFailed(f"all instance-store disks are in use: {names}", FIX)
    return free


if __name__ == "__main__":
    sys.exit(main(Machine(), sys.argv[1]))
