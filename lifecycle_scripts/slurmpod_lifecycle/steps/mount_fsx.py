"""The shared file system: mounted now, and again after every reboot.

The options are those that AWS documents for FSx for Lustre. The entry is in /etc/fstab, because
HyperPod does not run these scripts at a reboot; `x-systemd.automount` mounts on first use, so that
a file system that is late at boot time costs no node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod_lifecycle.failures import NotYet, StepFailed
from slurmpod_lifecycle.node import NodeStep
from slurmpod_lifecycle.settings import Role

if TYPE_CHECKING:
    from slurmpod_lifecycle.node import Node
    from slurmpod_lifecycle.settings import FileSystem

FSTAB = "/etc/fstab"
MOUNTS = "/proc/self/mounts"
OPTIONS = "noatime,flock,_netdev,x-systemd.automount"
FIX = (
    "check that the file system is AVAILABLE and that its security group lets the nodes reach"
    " TCP 988 and 1018-1023"
)


class MountFsx(NodeStep):
    """FSx for Lustre at the path that the environment names."""

    name = "mount_fsx"
    roles = frozenset(Role)

    def is_done(self) -> bool:
        """Tell whether it is mounted and will be after a reboot."""
        file_system, machine = self.node.settings.file_system, self.node.machine
        entries = (machine.read(FSTAB) or "").splitlines()
        return fstab_entry(file_system) in entries and is_mounted(
            machine.read(MOUNTS) or "", file_system
        )

    def apply(self) -> str:
        """Mount it and write a file; the network may need some attempts."""
        file_system, machine = self.node.settings.file_system, self.node.machine
        if machine.write(FSTAB, with_entry(machine.read(FSTAB) or "", file_system)):
            machine.run("systemctl", "daemon-reload")
        if not is_mounted(machine.read(MOUNTS) or "", file_system):
            machine.run("mkdir", "-p", file_system.mount_path)
            machine.run("mount", file_system.mount_path, fix=FIX)
        check_writable(self.node)
        return f"mounted {file_system.source} at {file_system.mount_path}"


def check_writable(node: Node) -> None:
    """Write and remove a small file; raises NotYet when that fails or the folder is no mount."""
    file_system = node.settings.file_system
    if not is_mounted(node.machine.read(MOUNTS) or "", file_system):
        raise NotYet(f"nothing is mounted at {file_system.mount_path}", FIX)
    path = f"{file_system.mount_path}/.slurmpod-{node.name}"
    node.machine.run("tee", path, text="a file to see that this node can write\n", fix=FIX)
    node.machine.run("rm", path, fix=FIX)


def fstab_entry(file_system: FileSystem) -> str:
    """Return the line of /etc/fstab for a file system."""
    return f"{file_system.source} {file_system.mount_path} lustre {OPTIONS} 0 0"


def with_entry(fstab: str, file_system: FileSystem) -> str:
    """Return the text of /etc/fstab with exactly one entry for the mount path: ours."""
    others = [line for line in fstab.splitlines() if line.split()[1:2] != [file_system.mount_path]]
    return "".join(f"{line}\n" for line in [*others, fstab_entry(file_system)])


def is_mounted(mounts: str, file_system: FileSystem) -> bool:
    """Tell whether the file system is in `mounts`, the text of /proc/self/mounts.

    The kernel shows the server's address in place of its name, so the name of the file system
    decides. Raises StepFailed when another Lustre file system has the folder.
    """
    for line in reversed(mounts.splitlines()):
        source, folder, kind = line.split()[:3]
        if folder != file_system.mount_path or kind == "autofs":
            continue
        if kind == "lustre" and not source.endswith(f":/{file_system.mount_name}"):
            reason = f"another file system, {source}, is mounted at {folder}"
            raise StepFailed(
                reason, f"unmount it, or replace the node: {file_system.source} is due"
            )
        return True
    return False
