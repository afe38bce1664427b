"""A folder on the shared file systems for the image's user, who could not write there otherwise.

The top of a new file system belongs to root. The home of `ubuntu` is on each node's own disk: a job
that writes there leaves its output on whichever node it ran. A file system at /home hides that
home, and the folder becomes the home.
"""

from __future__ import annotations

from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import CommandFailed, StepFailed

USER = "ubuntu"
FIX = "make the folder by hand; with root squash, name the controller in except_nids"


class UserFolder(NodeStep):
    """`<mount path>/ubuntu` exists; the controller creates it, once for all nodes.

    A file system that this environment did not create is left alone.
    """

    name = "user_folder"
    roles = frozenset({Role.CONTROLLER})
    needs = ("mount_fsx",)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether this is the controller, and a file system needs the folder."""
        return super().applies_to(node) and bool(_folders(node))

    def is_done(self) -> bool:
        """Return whether the folders exist; their owners may have changed since."""
        return not self._missing()

    def apply(self) -> str:
        """Create the folders, owned by the user."""
        ownership = (f"--owner={USER}", f"--group={USER}", "--mode=755")
        try:
            self.node.machine.run("install", "--directory", *ownership, *self._missing())
        except CommandFailed as error:
            raise StepFailed(error.reason, FIX) from None
        return f"{USER} can write to {' and '.join(_folders(self.node))}"

    def _missing(self) -> list[str]:
        machine = self.node.machine
        return [each for each in _folders(self.node) if not machine.succeeds("test", "-d", each)]


def _folders(node: Node) -> list[str]:
    return [f"{each.mount_path}/{USER}" for each in node.settings.file_systems if each.is_new]
