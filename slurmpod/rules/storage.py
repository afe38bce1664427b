"""Rules for file systems of every kind: size, place, protection of data, and mount points."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from slurmpod.environment.facts import fact
from slurmpod.environment.file_systems import StorageType
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved, ResolvedLustre
from slurmpod.resolve.storage import GIB_PER_HDD_SERVER, MAIN_LUSTRE
from slurmpod.rules.file_systems import (
    CREATE_FILE_SYSTEM,
    DEPLOYMENT_TYPES,
    OPENZFS,
    all_file_systems,
    all_mounts,
    at,
    new_file_systems,
    new_lustre,
)
from slurmpod.rules.own_scripts import FOLDER, lines_of
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding
from slurmpod.rules.sources import DELETION_POLICY

STORAGE = Area("STO", "Storage", reads=("storage",))

OUTPUTS = (
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/outputs-section-structure.html"
)

SMALLEST_SSD_GIB = 1200
SSD_STEP_GIB = 2400

WITHOUT_PERSISTENT_2 = fact("regions.without_persistent_2")
"""Regions with HyperPod but without PERSISTENT_2."""

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
def _capacity(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        settings, step = each.settings, _step_gib(each)
        if step is None:
            continue
        gib = settings.capacity_gib
        smallest = SMALLEST_SSD_GIB if settings.storage_type is StorageType.SSD else step
        if gib == smallest or not gib % step:
            continue
        below, above = gib // step * step or smallest, (gib // step + 1) * step
        message = f"FSx for Lustre has no {settings.storage_type.value} file systems of {gib} GiB"
        fix = f"write {below} or {above}" if below != above else f"write {above}"
        yield at(each, "capacity_gib", message, fix)


@STORAGE.rule(
    "STO-002",
    "The Region has PERSISTENT_2 file systems",
    why="Not every Region with HyperPod has this deployment type of FSx for Lustre.",
    fix="choose deployment_type PERSISTENT_1 or another Region, or look up whether FSx offers "
    "PERSISTENT_2 there by now",
    source=DEPLOYMENT_TYPES,
    severity=Severity.WARNING,
    reads=("region", "storage"),
)
def _region(resolved: Resolved) -> Iterator[Finding]:
    region = resolved.region
    types = {each.settings.deployment_type for each in new_lustre(resolved)}
    if region in WITHOUT_PERSISTENT_2.values and "PERSISTENT_2" in types:
        when = WITHOUT_PERSISTENT_2.when
        message = f"FSx for Lustre had no PERSISTENT_2 in {region} (as of {when})"
        yield Finding(("region",), message)


@STORAGE.rule(
    "STO-003",
    "The mount path is no folder of the operating system",
    why="Mounting over such a folder hides what the node needs to run or to let users in. Only an "
    "OpenZFS file system can be /home: home directories are small files and wait for each one.",
    fix="choose a separate folder, such as /fsx",
    source="https://refspecs.linuxfoundation.org/FHS_3.0/fhs/index.html",
)
def _mount_path(resolved: Resolved) -> Iterator[Finding]:
    for mount in all_mounts(resolved):
        if mount.folder == "/home" and mount.section == OPENZFS:
            continue
        if owner := _owner_of(mount.folder):
            yield Finding(mount.path, f"{mount.folder} belongs to {owner}")


@STORAGE.rule(
    "STO-004",
    "An existing file system is used unchanged",
    why="These settings are for creating a file system. Written beside `existing` they change "
    "nothing, and the file would say something that is not so.",
    fix="remove the key, or remove 'existing' to create a new file system",
    source="slurmpod/environment/lustre.py",
)
def _existing_is_taken_as_it_is(resolved: Resolved) -> Iterator[Finding]:
    for file_system in all_file_systems(resolved):
        settings = file_system.settings
        if not settings.existing:
            continue
        written = type(settings).model_fields.keys() & settings.model_fields_set
        for key in sorted(written - MEANT_FOR_EXISTING):
            message = f"'{key}' does nothing to an existing file system"
            yield Finding((*file_system.path, key), message, at_key=True)


@STORAGE.rule(
    "STO-005",
    "Every additional file system has a unique name",
    why="Outputs of the stack are named after it, in letters and digits only. The same stack "
    "cannot have a second output of the same name, even if the names differ in hyphens.",
    fix=f"choose another name; '{MAIN_LUSTRE}' is the main file system's",
    source=OUTPUTS,
)
def _names_are_unique(resolved: Resolved) -> Iterator[Finding]:
    seen = {MAIN_LUSTRE: MAIN_LUSTRE}
    for index, lustre in enumerate(resolved.environment.storage.additional_lustre):
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
def _nodes_share_something(resolved: Resolved) -> Iterator[Finding]:
    if not all_file_systems(resolved):
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
def _existing_ids_are_unique(resolved: Resolved) -> Iterator[Finding]:
    seen: set[str] = set()
    for file_system in all_file_systems(resolved):
        existing = file_system.settings.existing
        if not existing:
            continue
        if existing.id in seen:
            message = f"{existing.id} is mounted already"
            yield Finding((*file_system.path, "existing", "id"), message)
        seen.add(existing.id)


def _owner_of(folder: str) -> str | None:
    """Return the owner of a folder that must not be a mount point, or nothing."""
    names = folder.split("/")[1:]
    if names[0] in FOLDERS_OF_THE_SYSTEM or folder in SHARED_FOLDERS:
        return "the operating system"
    if names[0] == "opt" and MARK_IN_NAME.split(names[1])[0] in OWNERS_IN_OPT:
        return "HyperPod and its machine image"
    return None


def _step_gib(lustre: ResolvedLustre) -> int | None:
    """Return the step of the capacity; None without one, or if another rule reports it."""
    if lustre.settings.storage_type is StorageType.SSD:
        return SSD_STEP_GIB
    if lustre.settings.deployment_type != "PERSISTENT_1":
        return None
    return GIB_PER_HDD_SERVER.get(lustre.throughput_mbps_per_tib or 0)


DATA = Area("DAT", "Data", reads=("protected", "storage"))


@DATA.rule(
    "DAT-001",
    "A protected environment keeps its data",
    why="`protected` promises that nothing is lost by one command; `on_delete: delete` deletes all "
    "data with the stack or with a change that replaces the file system.",
    fix="write 'on_delete: retain', or remove the protection",
    source=DELETION_POLICY,
)
def _protected_keeps_data(resolved: Resolved) -> Iterator[Finding]:
    if resolved.protected:
        for file_system in new_file_systems(resolved):
            if file_system.settings.on_delete == "delete":
                message = "a protected environment cannot delete its data with its stack"
                yield Finding((*file_system.path, "on_delete"), message)


@DATA.rule(
    "DAT-002",
    "Data outlive their stack",
    why="Deleting the stack deletes the file system and all that users have stored on it, and so "
    "does a change of a property that CloudFormation can only replace.",
    fix="write 'on_delete: retain'; where the data can be lost, accept the warning with 'suppress'",
    source=DELETION_POLICY,
    severity=Severity.WARNING,
)
def _data_outlive_the_stack(resolved: Resolved) -> Iterator[Finding]:
    if resolved.protected:
        return
    for file_system in new_file_systems(resolved):
        if file_system.settings.on_delete == "delete":
            message = f"all data at {file_system.settings.mount_path} are deleted with the stack"
            yield Finding((*file_system.path, "on_delete"), message)


MOUNTS = Area("MNT", "Mounts", reads=("storage",))

FSTAB = "https://man7.org/linux/man-pages/man8/mount.8.html"
LIFECYCLE = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html"
)

FILE_SYSTEM_ID = re.compile(r"(?<![\w-])fs-[0-9a-f]{8,17}(?![\w-])")


@MOUNTS.rule(
    "MNT-001",
    "Every mount has its own folder",
    why="Of two mounts on one folder the second hides the first.",
    fix="choose another folder for one of the two",
    source=FSTAB,
)
def _folders_are_unique(resolved: Resolved) -> Iterator[Finding]:
    seen: set[str] = set()
    for mount in all_mounts(resolved):
        if mount.folder in seen:
            yield Finding(mount.path, f"something else is mounted on {mount.folder} already")
        seen.add(mount.folder)


@MOUNTS.rule(
    "MNT-002",
    "No mount is inside another one",
    why="The inner one is a folder of the outer file system: it exists only while the outer one is "
    "mounted, hides the files below it there, and prevents unmounting the outer one.",
    fix="choose a folder beside it, such as /scratch beside /fsx",
    source=FSTAB,
)
def _mounts_lie_side_by_side(resolved: Resolved) -> Iterator[Finding]:
    for one, other in combinations(all_mounts(resolved), 2):
        inner, outer = sorted((one, other), key=lambda mount: len(mount.folder), reverse=True)
        if inner.folder.startswith(f"{outer.folder}/"):
            message = f"{inner.folder} is inside {outer.folder}, which is a mount too"
            yield Finding(inner.path, message)


@MOUNTS.rule(
    "MNT-003",
    "Buckets can be mounted",
    why="In managed mode no script of the environment runs on nodes, and HyperPod itself mounts "
    "FSx file systems only.",
    fix="use lifecycle.mode extended or customer, or data_repositories of a Lustre file system",
    source=LIFECYCLE,
    reads=("storage", *LIFECYCLE_MODE),
)
def _somebody_mounts_buckets(resolved: Resolved) -> Iterator[Finding]:
    if resolved.lifecycle.mode == "managed" and resolved.s3_mounts:
        message = "buckets are not mounted in managed mode"
        yield Finding(("storage", "s3_mounts"), message, at_key=True)


@MOUNTS.rule(
    "MNT-004",
    "Your own scripts name no file system that the environment does not know",
    why="Nothing here has judged whether nodes reach it: its VPC, its zone and its security groups "
    "are its own. An id that is left from another cluster fails every node.",
    fix="name it in storage as an existing one, or accept the warning where it is known to work",
    source=LIFECYCLE,
    severity=Severity.WARNING,
    reads=("lifecycle", "storage"),
)
def _file_systems_are_known(resolved: Resolved) -> Iterator[Finding]:
    own = resolved.lifecycle.own_scripts
    existing = [each.settings.existing for each in (*resolved.lustre, resolved.openzfs) if each]
    known = {each.id for each in existing if each}
    for line in lines_of(own) if own else ():
        for name in dict.fromkeys(FILE_SYSTEM_ID.findall(line.text)):
            if name not in known:
                yield Finding(FOLDER, f"{line} names {name}, no file system of the environment")
