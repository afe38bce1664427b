"""The storage stack: the file systems that every node mounts, and their mount targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import CfnOutput
from constructs import Construct

from slurmpod.resolve import Resolved, ResolvedLustre, ResolvedOpenZfs
from slurmpod.resolve.storage import MAIN_LUSTRE, OPENZFS_MOUNT_NAME
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.network.stack import ClusterNetwork
from slurmpod_cdk.storage.lustre_file_system import LustreFileSystem
from slurmpod_cdk.storage.openzfs_file_system import OpenZfsFileSystem


@dataclass(frozen=True)
class MountTarget:
    """A file system with its server and mount name; tokens if it is new."""

    file_system_id: str
    dns_name: str
    mount_name: str


@dataclass(frozen=True)
class FileSystems:
    """All file systems of an environment, new or existing; Lustre by resolved name.

    `stack` is None if nothing is created.
    """

    stack: EnvironmentStack | None
    lustre: Mapping[str, MountTarget]
    openzfs: MountTarget | None


def file_systems_of(scope: Construct, resolved: Resolved, network: ClusterNetwork) -> FileSystems:
    """Make the new file systems of an environment and look up the existing ones."""
    stack = None
    if resolved.stacks.storage:
        stack = StorageStack(scope, resolved.stacks.storage, resolved=resolved, network=network)
    made = stack.lustre if stack else {}
    return FileSystems(
        stack=stack,
        lustre={each.name: made.get(each.name) or _existing(each) for each in resolved.lustre},
        openzfs=(stack and stack.openzfs) or _existing_openzfs(resolved.openzfs),
    )


class StorageStack(EnvironmentStack):
    """Users' data. Deployed after the whole network stack (`add_stacks`).

    FSx tests port 988 when it creates a file system and fails if the security group lacks the rule
    for it, hence the dependency on the rules and not only on the group.

    Construct ids are the user's names: adding or removing one file system must not affect the data
    of another.
    """

    def __init__(
        self, scope: Construct, stack_name: str, *, resolved: Resolved, network: ClusterNetwork
    ) -> None:
        super().__init__(
            scope,
            stack_name,
            resolved=resolved,
            description=f"File systems of the HyperPod cluster {resolved.name}",
        )
        self.lustre = {
            each.name: self._make_lustre(each, resolved, network)
            for each in resolved.lustre
            if not each.settings.existing
        }
        self.openzfs = None
        if resolved.openzfs and not resolved.openzfs.settings.existing:
            self.openzfs = self._make_openzfs(resolved.openzfs, resolved, network)

    def _make_lustre(
        self, file_system: ResolvedLustre, resolved: Resolved, network: ClusterNetwork
    ) -> MountTarget:
        is_main = file_system.name == MAIN_LUSTRE
        made = LustreFileSystem(
            self,
            "Lustre" if is_main else f"Lustre-{file_system.name}",
            name=resolved.name if is_main else f"{resolved.name}-{file_system.name}",
            settings=file_system.settings,
            subnet=network.subnet(file_system.zone),
            security_groups=network.security_groups,
        )
        which = "" if is_main else file_system.name.title()
        title = "FSx for Lustre file system" + ("" if is_main else f" {file_system.name}")
        self._output(f"FileSystemId{which}", made.file_system_id, f"Id of the {title}")
        self._output(
            f"FileSystemDnsName{which}",
            made.dns_name,
            "DNS name under which nodes mount the file system",
        )
        self._output(
            f"FileSystemMountName{which}",
            made.mount_name,
            "Mount name of the file system: mount -t lustre <DNS name>@tcp:/<this>",
        )
        return MountTarget(made.file_system_id, made.dns_name, made.mount_name)

    def _make_openzfs(
        self, file_system: ResolvedOpenZfs, resolved: Resolved, network: ClusterNetwork
    ) -> MountTarget:
        made = OpenZfsFileSystem(
            self,
            "OpenZfs",
            name=f"{resolved.name}-openzfs",
            settings=file_system.settings,
            subnet=network.subnet(file_system.zone),
            security_groups=network.security_groups,
        )
        self._output("OpenZfsId", made.file_system_id, "Id of the FSx for OpenZFS file system")
        self._output(
            "OpenZfsDnsName", made.dns_name, "DNS name: mount -t nfs <this>:/fsx/ <folder>"
        )
        return MountTarget(made.file_system_id, made.dns_name, OPENZFS_MOUNT_NAME)

    def _output(self, name: str, value: str, description: str) -> None:
        CfnOutput(self, name, value=value, description=description)


def _existing(file_system: ResolvedLustre) -> MountTarget:
    existing = file_system.settings.existing
    if existing is None or file_system.dns_name is None:
        raise ValueError(f"{file_system.name} is neither new nor existing")
    return MountTarget(existing.id, file_system.dns_name, existing.mount_name)


def _existing_openzfs(file_system: ResolvedOpenZfs | None) -> MountTarget | None:
    existing = file_system.settings.existing if file_system else None
    if file_system is None or existing is None or file_system.dns_name is None:
        return None
    return MountTarget(existing.id, file_system.dns_name, OPENZFS_MOUNT_NAME)
