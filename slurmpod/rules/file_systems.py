"""Where the file systems and mounts of an environment stand in its file, for the rules on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.environment.environment import Environment
from slurmpod.environment.lustre import Lustre
from slurmpod.environment.openzfs import OpenZfs
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved, ResolvedLustre
from slurmpod.rules.registry import Finding

API = "https://docs.aws.amazon.com/fsx/latest/APIReference"
CREATE_FILE_SYSTEM = f"{API}/API_CreateFileSystem.html"
CREATE_LUSTRE = f"{API}/API_CreateFileSystemLustreConfiguration.html"
EFA_CLIENTS = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html"
DEPLOYMENT_TYPES = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-fsx-lustre.html"

OPENZFS = ("storage", "openzfs")
SCRATCH = ("storage", "scratch")


@dataclass(frozen=True)
class Mount:
    """A folder on which something is mounted; `section` is the place of what is mounted."""

    section: YamlPath
    folder: str

    @property
    def path(self) -> YamlPath:
        """The place of the folder's name."""
        return (*self.section, "mount_path")


def new_lustre(resolved: Resolved) -> Iterator[ResolvedLustre]:
    """Return the Lustre file systems that will be created, the main one first."""
    return (each for each in resolved.lustre if not each.settings.existing)


def at(
    each: ResolvedLustre, key: str, message: str, fix: str = "", *, at_key: bool = False
) -> Finding:
    """Return a finding at one key of a file system."""
    return Finding((*each.path, key), message, fix, at_key=at_key)


def new_openzfs(environment: Environment) -> OpenZfs | None:
    """Return the OpenZFS file system if it will be created."""
    openzfs = environment.storage.openzfs
    return None if openzfs is None or openzfs.existing else openzfs


def new_file_systems(environment: Environment) -> Iterator[tuple[YamlPath, Lustre | OpenZfs]]:
    """Return every file system that will be created, with its place."""
    yield from (each for each in all_file_systems(environment) if not each[1].existing)


def all_file_systems(environment: Environment) -> Iterator[tuple[YamlPath, Lustre | OpenZfs]]:
    """Return every file system, with its place."""
    yield from _sections(environment)
    if environment.storage.openzfs:
        yield OPENZFS, environment.storage.openzfs


def all_mounts(environment: Environment) -> Iterator[Mount]:
    """Return every folder on which something is mounted, in the order of the model."""
    for path, file_system in all_file_systems(environment):
        yield Mount(path, file_system.mount_path)
    for index, mount in enumerate(environment.storage.s3_mounts):
        yield Mount(("storage", "s3_mounts", index), mount.mount_path)
    if environment.storage.scratch:
        yield Mount(SCRATCH, environment.storage.scratch.mount_path)


def _sections(environment: Environment) -> Iterator[tuple[YamlPath, Lustre]]:
    if environment.storage.lustre:
        yield ("storage", "lustre"), environment.storage.lustre
    for index, lustre in enumerate(environment.storage.additional_lustre):
        yield ("storage", "additional_lustre", index), lustre
