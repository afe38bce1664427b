"""The message of the day: where a user is after an SSH login, and what is where.

A separate file next to the image's messages (pam_motd(8) shows all in /etc/motd.d). Sessions of
Systems Manager are no logins, and show none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import Role

PATH = "/etc/motd.d/slurmpod"

PLACES = {
    Role.CONTROLLER: "The controller, which runs Slurm for everybody: please work elsewhere.",
    Role.LOGIN: "A login node, to edit and submit: please run larger work as jobs.",
    Role.WORKER: "A worker, whose processors belong to jobs.",
}
COMMANDS = """\
sinfo                 partitions and nodes
sbatch job.sbatch     run a script
srun --pty bash       a shell on a worker
squeue --me           my jobs
sacct --starttime now-1days
                      my jobs since yesterday"""


class Motd(NodeStep):
    """The message of the day names the cluster, this node, its folders and Slurm's commands."""

    name = "motd"
    roles = frozenset(Role)
    required = False

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment enables it."""
        return super().applies_to(node) and node.settings.node.motd

    @classmethod
    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:
        """Return the removal of its file."""
        del machine
        return {PATH: None}

    def is_done(self) -> bool:
        """Return whether the file is up to date."""
        return self.node.machine.read(PATH) == message(self.node)

    def apply(self) -> str:
        """Write it."""
        self.node.machine.write(PATH, message(self.node))
        return f"logins show {PATH}"


def message(node: Node) -> str:
    """Return the whole text."""
    title = f"Cluster {node.settings.cluster_name}: {node.name}, group {node.instance.group}"
    paragraphs = [f"{title}\n{PLACES[node.role]}"]
    folders = dict(_folders(node))
    if folders:
        width = max(map(len, folders))
        paragraphs.append("\n".join(f"{path:{width}}  {what}" for path, what in folders.items()))
    paragraphs.append(COMMANDS)
    indented = "\n\n".join(paragraphs).replace("\n", "\n  ").replace("\n  \n", "\n\n")
    return f"\n  {indented}\n\n"


def _folders(node: Node) -> Iterator[tuple[str, str]]:
    """Yield the folders worth knowing, with a description."""
    for file_system in node.settings.file_systems:
        yield file_system.mount_path, "shared by all nodes"
    for mount in node.settings.s3_mounts:
        where = f"bucket {mount.bucket}" + (f", {mount.prefix}" if mount.prefix else "")
        yield mount.mount_path, f"{where}, read only" if mount.read_only else where
    scratch = node.settings.node.scratch_path
    if scratch and node.hardware and node.hardware.nvme_gb:
        what = f"{node.hardware.nvme_gb} GB of this node's own, not kept over a reboot"
        yield scratch, what
