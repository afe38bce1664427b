"""Folders of containers and images on the fastest disk of the node, as the root disk is small.

enroot and Docker are configured for it, by the settings of enroot's configuration.md and of
Docker's daemon.json. Optional: containers also work with the image's own folders, until the root
disk is full.
"""

from __future__ import annotations

import json
import re

from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import source_at
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.scratch_volume import UNIT as SCRATCH_UNIT
from slurmpod_lifecycle.scratch_volume import UNIT_OF_IMAGE
from slurmpod_lifecycle.settings import Role

DISKS = ("/opt/dlami/nvme", "/opt/sagemaker")
"""The image's folders for NVMe and for the group's own volume, fastest first."""

DISK_UNITS = f"{SCRATCH_UNIT}.service {UNIT_OF_IMAGE}.service"
"""The services that mount the disks at every boot; nodes without them do not wait."""

ROOT = "/var/lib/containers"
FOLDERS = {
    "ENROOT_RUNTIME_PATH": "runtime/user-$(id -u)",
    "ENROOT_DATA_PATH": "data/user-$(id -u)",
    "ENROOT_CACHE_PATH": "cache/user-$(id -u)",
    "ENROOT_TEMP_PATH": "tmp",
}
"""One per user, as enroot runs as the user; only the folders above them are root's."""

ENROOT_CONF = "/etc/enroot/enroot.conf"
UNIT = "slurmpod-container-folders"


def disk_of(node: Node) -> str | None:
    """Return the folder on the fastest disk, or None if there is only the root disk."""
    places = (node.settings.node.scratch_path, *DISKS)
    return next((each for each in places if each and source_at(node.machine, each)), None)


def base_of(node: Node) -> str:
    """Return the folder of all containers: on the fastest disk, else on the root disk."""
    return disk_of(node) or ROOT


def enroot_folders(base: str) -> tuple[str, ...]:
    """Return the folders in which every user may create some."""
    return tuple(f"{base}/enroot/{path.partition('/')[0]}" for path in FOLDERS.values())


def enroot_conf(text: str, base: str) -> str:
    """Return enroot.conf with our folders at its end and all other settings unchanged."""
    kept = [line for line in text.splitlines() if line.strip() and line.split()[0] not in FOLDERS]
    ours = [f"{name} {base}/enroot/{path}" for name, path in FOLDERS.items()]
    return "".join(f"{line}\n" for line in [*kept, *ours])


def has_own_enroot_folders(text: str, base: str) -> bool:
    """Return whether the image's own enroot.conf keeps containers on the disk at `base`."""
    paths = re.findall(r"^ENROOT_DATA_PATH\s+(\S.*?)\s*$", text, re.MULTILINE)
    ours = f"{base}/enroot/{FOLDERS['ENROOT_DATA_PATH']}"
    return any(path.startswith(f"{base}/") and path != ours for path in paths)


def docker_conf(text: str, base: str) -> str:
    """Return Docker's daemon.json with a folder for its data, unless it names one.

    From version 29 on, a fresh Docker leaves images to containerd, which keeps them in another
    folder on the root disk (Docker, "containerd image store"); so Docker is configured to keep them
    itself. Raises ValueError for a file that is no JSON object.
    """
    settings = json.loads(text or "{}")
    if not isinstance(settings, dict):
        raise ValueError("not an object")  # noqa: TRY004  # same error as for other invalid JSON
    if "data-root" in settings:
        return text
    features = {"containerd-snapshotter": False, **settings.get("features", {})}
    ours = {"data-root": f"{base}/docker", "features": features}
    return json.dumps({**settings, **ours}, indent=2) + "\n"


def folders_unit(base: str) -> str:
    """Return the service that makes the folders at every boot, when an NVMe disk may be empty.

    systemd has its own services for folders, but those run before the disks are mounted: their
    folders would be on the root disk, hidden by the mount.
    """
    words = ["/usr/bin/install", "--directory", "--mode=1777", *enroot_folders(base)]
    return f"""\
# Written by slurmpod's lifecycle scripts.
[Unit]
Description=Folders for containers on this node's fastest disk
After={DISK_UNITS}
Before=slurmd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={" ".join(map(units.quoted, words))}

[Install]
WantedBy=multi-user.target
"""


class ContainerFolders(NodeStep):
    """enroot.conf names existing folders on a fast disk, now and after a reboot."""

    name = "container_folders"
    roles = frozenset({Role.LOGIN, Role.WORKER})
    needs = ("scratch", "containers")
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables containers."""
        return super().applies_to(node) and node.settings.node.containers

    def is_done(self) -> bool:
        """Return whether the image has such folders, or ours exist."""
        machine, files = self.node.machine, self._files()
        folders = enroot_folders(base_of(self.node))
        return not files or (
            all(machine.read(path) == text for path, text in files.items())
            and not units.is_outdated(machine, UNIT)
            and units.is_running(machine, UNIT)
            and all(machine.succeeds("test", "-d", each) for each in folders)
        )

    def apply(self) -> str:
        """Create and configure the folders; folders that the image has put on a disk stay."""
        machine, files = self.node.machine, self._files()
        if not files:
            return "the image keeps them on a separate disk"
        for path, text in files.items():
            machine.write(path, text)
        units.reload_if_needed(machine, UNIT)
        units.start(machine, UNIT, restart=True)
        base = base_of(self.node)
        is_root_disk = base == ROOT
        return f"{'warning: on the root disk, ' if is_root_disk else ''}in {base}/enroot"

    def _files(self) -> dict[str, str]:
        """Return the contents of the files, by path; none if the image has its own setup."""
        text = self.node.machine.read(ENROOT_CONF) or ""
        base = base_of(self.node)
        if has_own_enroot_folders(text, base):
            return {}
        return {
            units.unit_path(UNIT): folders_unit(base),
            ENROOT_CONF: enroot_conf(text, base),
        }
