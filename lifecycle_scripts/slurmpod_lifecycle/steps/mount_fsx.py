"""The shared file systems: mounted now, and again after every reboot.

The options are those that AWS documents for FSx for Lustre ("Mounting your Amazon FSx file system
automatically") and FSx for OpenZFS. The entries are in /etc/fstab, because HyperPod does not run
these scripts at a reboot. `x-systemd.automount` mounts on first use, so that a file system that is
late at boot costs no node.

A file system with EFA waits for the services that configure EFA, otherwise it would use TCP. It
does not require them, as on the same page: without EFA it is slower, without a mount useless.
"""

from __future__ import annotations

from slurmpod_lifecycle import units
from slurmpod_lifecycle.machine import MOUNTS
from slurmpod_lifecycle.node import Node, NodeStep
from slurmpod_lifecycle.settings import FileSystem, Kind, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.efa_client import UNIT, UNIT_OF_FSX

FSTAB = "/etc/fstab"
TYPES = {Kind.LUSTRE: "lustre", Kind.OPENZFS: "nfs"}
OPTIONS = {
    Kind.LUSTRE: "noatime,flock,_netdev,x-systemd.automount",
    Kind.OPENZFS: "noatime,nfsvers=4.2,nconnect=16,rsize=1048576,wsize=1048576,_netdev"
    ",x-systemd.automount",
}
AFTER_EFA = "".join(f",x-systemd.after={unit}.service" for unit in (UNIT, UNIT_OF_FSX))
PORTS = {Kind.LUSTRE: "TCP 988 and 1018-1023", Kind.OPENZFS: "TCP 2049"}


class MountFsx(NodeStep):
    """The FSx file systems at the paths of the environment, except HyperPod's own."""

    name = "mount_fsx"
    roles = frozenset(Role)
    needs = ("efa_client",)

    @classmethod
    def applies_to(cls, node: Node) -> bool:
        """Return whether the environment has a file system that HyperPod does not mount."""
        return super().applies_to(node) and bool(_ours(node))

    def is_done(self) -> bool:
        """Return whether all are mounted and will be after a reboot."""
        entries = (self.node.machine.read(FSTAB) or "").splitlines()
        mounts = self.node.machine.read(MOUNTS) or ""
        return all(
            fstab_entry(file_system) in entries and is_mounted(mounts, file_system)
            for file_system in _ours(self.node)
        )

    def apply(self) -> str:
        """Mount them and write a file in each; the network may need some attempts."""
        file_systems, machine = _ours(self.node), self.node.machine
        fstab = machine.read(FSTAB) or ""
        for file_system in file_systems:
            fstab = with_entry(fstab, file_system)
        machine.write(FSTAB, fstab)
        folders = [each.mount_path for each in file_systems]
        units.reload_if_needed(machine, *(units.mount_unit(machine, each) for each in folders))
        for file_system in file_systems:
            if not is_mounted(machine.read(MOUNTS) or "", file_system):
                machine.run("mkdir", "-p", file_system.mount_path)
                machine.run("mount", file_system.mount_path, fix=_fix(file_system))
            check_usable(self.node, file_system)
        mounted = (f"{each.source} at {each.mount_path}" for each in file_systems)
        return f"mounted {', '.join(mounted)}"


def check_usable(node: Node, file_system: FileSystem) -> None:
    """Write and remove a small file; raises NotYet if that fails or the folder is no mount.

    Nothing is written where root may not write. Entering the folder first triggers its automount.
    """
    machine, folder, fix = node.machine, file_system.mount_path, _fix(file_system)
    machine.run("stat", f"{folder}/.", fix=fix)
    if not is_mounted(machine.read(MOUNTS) or "", file_system):
        raise NotYet(f"nothing is mounted at {folder}", fix)
    if not file_system.root_writes:
        return
    path = f"{folder}/.slurmpod-{node.name}"
    machine.run("tee", path, text="a file to see that this node can write\n", fix=fix)
    machine.run("rm", path, fix=fix)


def fstab_entry(file_system: FileSystem) -> str:
    """Return the line of /etc/fstab for a file system."""
    kind = file_system.kind
    options = OPTIONS[kind] + (AFTER_EFA if file_system.efa else "")
    return f"{file_system.source} {file_system.mount_path} {TYPES[kind]} {options} 0 0"


def with_entry(fstab: str, file_system: FileSystem) -> str:
    """Return the text of /etc/fstab with exactly one entry for the mount path: ours."""
    others = [line for line in fstab.splitlines() if line.split()[1:2] != [file_system.mount_path]]
    return "".join(f"{line}\n" for line in [*others, fstab_entry(file_system)])


def is_mounted(mounts: str, file_system: FileSystem) -> bool:
    """Return whether the file system is in `mounts`, the text of /proc/self/mounts.

    Raises StepFailed if another network file system is mounted at the folder.
    """
    for line in reversed(mounts.splitlines()):
        source, folder, kind = line.split()[:3]
        if folder != file_system.mount_path or kind == "autofs":
            continue
        if _is_another(source, kind, file_system):
            reason = f"another file system, {source}, is mounted at {folder}"
            raise StepFailed(
                reason, f"unmount it, or replace the node: {file_system.source} is due"
            )
        return True
    return False


def _is_another(source: str, kind: str, file_system: FileSystem) -> bool:
    """Compare with the kernel's mount; the options of HyperPod's own mounts are not checked.

    For Lustre the kernel shows the server's address instead of its name, so only the file system's
    name is compared.
    """
    if file_system.mounted_by_hyperpod or not kind.startswith(tuple(TYPES.values())):
        return False
    if not kind.startswith(TYPES[file_system.kind]):
        return True
    if file_system.kind is Kind.LUSTRE:
        return not source.endswith(f":/{file_system.mount_name}")
    return source.rstrip("/") != file_system.source


def _ours(node: Node) -> list[FileSystem]:
    return [each for each in node.settings.file_systems if not each.mounted_by_hyperpod]


def _fix(file_system: FileSystem) -> str:
    return (
        "check that the file system is AVAILABLE and that its security group lets the nodes reach"
        f" {PORTS[file_system.kind]}"
    )
