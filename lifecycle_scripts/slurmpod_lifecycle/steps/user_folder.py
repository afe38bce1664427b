"""A folder on the shared file system for the image's user, who could write nowhere there otherwise.

The root of a new file system belongs to root. The home of `ubuntu` is on each node's own disk: a
job that writes there leaves its output on whichever node it started.
"""

from __future__ import annotations

from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Role

USER = "ubuntu"


class UserFolder(NodeStep):
    """`<mount path>/ubuntu` exists; made by the controller, once for all nodes."""

    name = "user_folder"
    roles = frozenset({Role.CONTROLLER})
    needs = ("mount_fsx",)
    required = False

    def is_done(self) -> bool:
        """Tell whether the folder is there; whom it belongs to is then its owner's business."""
        return self.node.machine.succeeds("test", "-d", self._path())

    def apply(self) -> str:
        """Make the folder, the user's own."""
        path = self._path()
        self.node.machine.run(
            "install", "--directory", f"--owner={USER}", f"--group={USER}", "--mode=755", path
        )
        return f"{USER} can write to {path}"

    def _path(self) -> str:
        return f"{self.node.settings.file_system.mount_path}/{USER}"
