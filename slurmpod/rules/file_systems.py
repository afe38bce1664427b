"""File systems and mounts of an environment: common parts of the rules about them."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.storage import OpenZfs
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved, ResolvedLustre, ResolvedOpenZfs
from slurmpod.rules.registry import Finding
from slurmpod.value import Value

API = "https://docs.aws.amazon.com/fsx/latest/APIReference"
CREATE_FILE_SYSTEM = f"{API}/API_CreateFileSystem.html"
CREATE_LUSTRE = f"{API}/API_CreateFileSystemLustreConfiguration.html"
EFA_CLIENTS = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html"
DEPLOYMENT_TYPES = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-fsx-lustre.html"

OPENZFS = ("storage", "openzfs")
SCRATCH = ("storage", "scratch")


class Mount(Value):
    """A mount point; `section` is the path of its file system or bucket."""

    section: YamlPath
    folder: str

    @property
    def path(self) -> YamlPath:
        """The path of the mount path."""
        return (*self.section, "mount_path")


def new_lustre(resolved: Resolved) -> Iterator[ResolvedLustre]:
    """Return the Lustre file systems that will be created, the main one first."""
    return (each for each in resolved.lustre if not each.settings.existing)


def at(
    each: ResolvedLustre, key: str, message: str, fix: str = "", *, at_key: bool = False
) -> Finding:
    """Return a finding at one key of a file system."""
    return Finding((*each.path, key), message, fix, at_key=at_key)


def new_openzfs(resolved: Resolved) -> OpenZfs | None:
    """Return the OpenZFS file system if it will be created."""
    openzfs = resolved.openzfs
    return None if openzfs is None or openzfs.settings.existing else openzfs.settings


def new_file_systems(resolved: Resolved) -> Iterator[ResolvedLustre | ResolvedOpenZfs]:
    """Return every file system that will be created."""
    return (each for each in all_file_systems(resolved) if not each.settings.existing)


def all_file_systems(resolved: Resolved) -> tuple[ResolvedLustre | ResolvedOpenZfs, ...]:
    """Return every file system, in the order of the model."""
    return (*resolved.lustre, resolved.openzfs) if resolved.openzfs else resolved.lustre


def all_mounts(resolved: Resolved) -> Iterator[Mount]:
    """Return all mount points, in the order of the model."""
    for file_system in all_file_systems(resolved):
        yield Mount(file_system.path, file_system.settings.mount_path)
    for index, mount in enumerate(resolved.s3_mounts):
        yield Mount(("storage", "s3_mounts", index), mount.mount_path)
    if resolved.environment.storage.scratch:
        yield Mount(SCRATCH, resolved.environment.storage.scratch.mount_path)
