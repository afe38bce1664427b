"""Rules for file systems of every kind: their size, their place, and which are made."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmpod.model.file_systems import StorageType
from slurmpod.problems import Severity
from slurmpod.resolve.storage import GIB_PER_HDD_SERVER, MAIN_LUSTRE
from slurmpod.rules.file_systems import (
    CREATE_FILE_SYSTEM,
    DEPLOYMENT_TYPES,
    OPENZFS,
    all_file_systems,
    all_mounts,
    new_lustre,
)
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved, ResolvedLustre

STORAGE = Area("STO", "Storage")

OUTPUTS = (
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/outputs-section-structure.html"
)

SMALLEST_SSD_GIB = 1200
SSD_STEP_GIB = 2400

REGIONS_WITHOUT_PERSISTENT_2 = frozenset(
    {"ap-south-2", "ap-southeast-3", "ap-southeast-4", "eu-south-2", "sa-east-1"}
)
"""Regions with HyperPod but without PERSISTENT_2, from the FSx for Lustre user guide, mid 2026."""

FOLDERS_OF_THE_SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "root"}
    | {"run", "sbin", "snap", "sys", "tmp", "usr", "var"}
)
"""Folders in and below which nothing may be mounted."""

SHARED_FOLDERS = frozenset({"/home", "/opt"})
"""Folders below which one may mount, but not on them."""

OWNERS_IN_OPT = frozenset({"ml", "slurm", "sagemaker", "dlami", "aws", "amazon"})
"""Folders in /opt that come with HyperPod and its machine image, also with a version or a part of
them behind a mark: slurm-25.11, aws-ofi-nccl, sagemaker_cluster."""

MARK_IN_NAME = re.compile("[-_.]")

MEANT_FOR_EXISTING = frozenset({"name", "mount_path", "existing", "efa"})
"""Settings that say something about a file system that is there already."""


@STORAGE.rule(
    "STO-001",
    "The file system has a capacity that FSx offers",
    why="Lustre file systems on SSD come in 1200 GiB, 2400 GiB and steps of 2400 GiB; those on HDD "
    "in steps of 6000 GiB at 12 MB/s per TiB and of 1800 GiB at 40.",
    fix="write a capacity that FSx offers",
    source=CREATE_FILE_SYSTEM,
)
def _capacity(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        settings, step = each.settings, _step_gib(each.resolved)
        if step is None:
            continue
        gib = settings.capacity_gib
        smallest = SMALLEST_SSD_GIB if settings.storage_type is StorageType.SSD else step
        if gib == smallest or not gib % step:
            continue
        below, above = gib // step * step or smallest, (gib // step + 1) * step
        message = f"FSx for Lustre has no {settings.storage_type.value} file systems of {gib} GiB"
        fix = f"write {below} or {above}" if below != above else f"write {above}"
        yield each.finding("capacity_gib", message, fix)


@STORAGE.rule(
    "STO-002",
    "The Region has PERSISTENT_2 file systems",
    why="Not every Region with HyperPod has this deployment type of FSx for Lustre.",
    fix="choose deployment_type PERSISTENT_1 or another Region, or look up whether FSx offers "
    "PERSISTENT_2 there by now",
    source=DEPLOYMENT_TYPES,
    severity=Severity.WARNING,
)
def _region(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    region = environment.region
    types = {each.settings.deployment_type for each in new_lustre(environment, resolved)}
    if region in REGIONS_WITHOUT_PERSISTENT_2 and "PERSISTENT_2" in types:
        yield Finding(("region",), f"FSx for Lustre had no PERSISTENT_2 in {region} in 2026")


@STORAGE.rule(
    "STO-003",
    "The mount path is no folder of the operating system",
    why="Mounting over such a folder hides what the node needs to run or to let users in. Only an "
    "OpenZFS file system can be /home: home directories are small files and wait for each one.",
    fix="choose a folder of its own, such as /fsx",
    source="https://refspecs.linuxfoundation.org/FHS_3.0/fhs/index.html",
)
def _mount_path(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for mount in all_mounts(environment):
        if mount.folder == "/home" and mount.section == OPENZFS:
            continue
        if owner := _owner_of(mount.folder):
            yield Finding(mount.path, f"{mount.folder} belongs to {owner}")


@STORAGE.rule(
    "STO-004",
    "An existing file system is taken as it is",
    why="These settings are for creating a file system. Written beside `existing` they change "
    "nothing, and the file would say something that is not so.",
    fix="remove the key, or remove 'existing' to create a new file system",
    source="slurmpod/model/lustre.py",
)
def _existing_is_taken_as_it_is(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for path, file_system in all_file_systems(environment):
        if not file_system.existing:
            continue
        written = type(file_system).model_fields.keys() & file_system.model_fields_set
        for key in sorted(written - MEANT_FOR_EXISTING):
            message = f"'{key}' does nothing to an existing file system"
            yield Finding((*path, key), message, at_key=True)


@STORAGE.rule(
    "STO-005",
    "Every additional file system has a name of its own",
    why="Outputs of the stack are named after it, in letters and digits only. A second one of the "
    "same name, also when only hyphens differ, cannot stand in the same stack.",
    fix=f"choose another name; '{MAIN_LUSTRE}' is the main file system's",
    source=OUTPUTS,
)
def _names_are_unique(environment: Environment, _: Resolved) -> Iterator[Finding]:
    seen = {MAIN_LUSTRE: MAIN_LUSTRE}
    for index, lustre in enumerate(environment.storage.additional_lustre):
        short = lustre.name.replace("-", "")
        if short in seen:
            path = ("storage", "additional_lustre", index, "name")
            yield Finding(path, f"'{lustre.name}' is too much like another one, '{seen[short]}'")
        seen.setdefault(short, lustre.name)


@STORAGE.rule(
    "STO-006",
    "Nodes share a file system",
    why="A job starts in the folder from which it was submitted and writes its output there, on "
    "each of its nodes. Without a shared file system that folder is another one on every node.",
    fix="keep storage.lustre or give storage.openzfs",
    source="https://slurm.schedmd.com/sbatch.html",
    severity=Severity.WARNING,
)
def _nodes_share_something(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if not any(all_file_systems(environment)):
        yield Finding(("storage", "lustre"), "no file system is shared by the nodes")


@STORAGE.rule(
    "STO-007",
    "Every existing file system is named once",
    why="The same id in two places is nearly always a copy that was not finished; nodes would have "
    "the same data in two folders.",
    fix="write the id of the other file system, or remove one of the two",
    source="https://docs.aws.amazon.com/fsx/latest/APIReference/API_DescribeFileSystems.html",
    severity=Severity.WARNING,
)
def _existing_ids_are_unique(environment: Environment, _: Resolved) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, file_system in all_file_systems(environment):
        if not file_system.existing:
            continue
        if file_system.existing.id in seen:
            message = f"{file_system.existing.id} is mounted already"
            yield Finding((*path, "existing", "id"), message)
        seen.add(file_system.existing.id)


def _owner_of(folder: str) -> str | None:
    """Return whose a folder is, if not the user's to mount something on."""
    names = folder.split("/")[1:]
    if names[0] in FOLDERS_OF_THE_SYSTEM or folder in SHARED_FOLDERS:
        return "the operating system"
    if names[0] == "opt" and MARK_IN_NAME.split(names[1])[0] in OWNERS_IN_OPT:
        return "HyperPod and its machine image"
    return None


def _step_gib(lustre: ResolvedLustre) -> int | None:
    """Return the step of the capacity; None where there is none or another rule speaks."""
    if lustre.settings.storage_type is StorageType.SSD:
        return SSD_STEP_GIB
    if lustre.settings.deployment_type != "PERSISTENT_1":
        return None
    return GIB_PER_HDD_SERVER.get(lustre.throughput_mbps_per_tib or 0)
