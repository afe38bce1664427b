"""Rules for home directories: on shared storage that knows owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.file_systems import SCRATCH, all_mounts
from slurmpod.rules.people_places import has_people
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved
    from slurmpod.rules.file_systems import Mount

HOMES = Area("HOM", "Home directories")

PREREQUISITES = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites.html"
)
SEMANTICS = "https://github.com/awslabs/mountpoint-s3/blob/main/doc/SEMANTICS.md"


@HOMES.rule(
    "HOM-001",
    "Home directories are on a shared file system",
    why="A job runs on another node than the one from which it was submitted. With a home on each "
    "node's own disk it finds none of its files, and a replaced node has lost them.",
    fix="add a file system under storage, or name a folder below the one that is mounted",
    source=PREREQUISITES,
    severity=Severity.WARNING,
)
def _homes_are_shared(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    access = environment.access
    if not has_people(resolved):
        return
    if access.home_directory is None and resolved.access.home_directory is None:
        key = next(key for key in ("users", "users_file", "directory") if getattr(access, key))
        yield Finding(("access", key), "their homes are on each node's own disk", at_key=True)
    elif access.home_directory:
        mount, path = _mount_of(environment, access.home_directory), ("access", "home_directory")
        if mount is None:
            yield Finding(path, f"nothing is mounted at {access.home_directory} or above it")
        elif mount.section == SCRATCH:
            yield Finding(path, f"{access.home_directory} is on each node's own disks")


@HOMES.rule(
    "HOM-002",
    "Home directories are on no bucket",
    why="A mounted bucket knows no owners and no permissions, and files in it cannot be changed.",
    fix="name a folder on an FSx file system",
    source=SEMANTICS,
)
def _homes_are_on_no_bucket(environment: Environment, _: Resolved) -> Iterator[Finding]:
    folder = environment.access.home_directory
    mount = _mount_of(environment, folder) if folder else None
    if mount and mount.section[1] == "s3_mounts":
        yield Finding(("access", "home_directory"), f"{folder} is in a mounted bucket")


def _mount_of(environment: Environment, folder: str) -> Mount | None:
    """Return what is mounted at a folder, or above it."""
    around = [
        mount for mount in all_mounts(environment) if f"{folder}/".startswith(f"{mount.folder}/")
    ]
    return max(around, key=lambda mount: len(mount.folder), default=None)
