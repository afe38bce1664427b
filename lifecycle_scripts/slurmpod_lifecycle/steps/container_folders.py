"""enroot keeps images and containers on the fastest disk of the node, as the root disk is small.

Optional: with the image's own folders containers work, until the root disk is full.
"""

from __future__ import annotations

from slurmpod_lifecycle import container_storage, units
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role

ENROOT_CONF = "/etc/enroot/enroot.conf"
UNIT = "slurmpod-container-folders"


class ContainerFolders(NodeStep):
    """enroot.conf names folders on a fast disk that are there, now and after a reboot."""

    name = "container_folders"
    roles = frozenset({Role.LOGIN, Role.WORKER})
    needs = ("scratch", "containers")
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Tell whether the environment asks for containers."""
        return super().applies_to(node) and node.settings.node.containers

    def is_done(self) -> bool:
        """Tell whether the image has such folders, or ours are there."""
        machine, files = self.node.machine, self._files()
        folders = container_storage.enroot_folders(container_storage.base_of(self.node))
        return not files or (
            all(machine.read(path) == text for path, text in files.items())
            and not units.is_outdated(machine, UNIT)
            and units.is_running(machine, UNIT)
            and all(machine.succeeds("test", "-d", each) for each in folders)
        )

    def apply(self) -> str:
        """Make the folders and name them; folders that the image has put on a disk stay."""
        machine, files = self.node.machine, self._files()
        if not files:
            return "the image keeps them on a disk of their own"
        for path, text in files.items():
            machine.write(path, text)
        units.reload_if_needed(machine, UNIT)
        units.start(machine, UNIT, anew=True)
        base = container_storage.base_of(self.node)
        is_root_disk = base == container_storage.ROOT
        return f"{'warning: on the root disk, ' if is_root_disk else ''}in {base}/enroot"

    def _files(self) -> dict[str, str]:
        """Return what files should say, by path; none where the image has seen to it."""
        text = self.node.machine.read(ENROOT_CONF) or ""
        base = container_storage.base_of(self.node)
        if container_storage.has_own_enroot_folders(text, base):
            return {}
        return {
            units.unit_path(UNIT): container_storage.folders_unit(base),
            ENROOT_CONF: container_storage.enroot_conf(text, base),
        }
