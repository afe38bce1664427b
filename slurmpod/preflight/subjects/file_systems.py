"""FSx file systems: their quotas, and existing ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.environment.network import ExistingNetwork as NamedNetwork
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question, all_of
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.quotas import INCREASE, Need
from slurmpod.preflight.subjects.stacks import will_be_made
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

FSX_QUOTAS = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/limits.html"
LUSTRE_QUOTAS = {
    "PERSISTENT_2": ("L-FD6F2F22", "L-8F1B9C74"),
    "PERSISTENT_1": ("L-9AFA1F09", "L-C8640C82"),
    "SCRATCH_1": ("L-C48231E5", "L-AD2FC696"),
    "SCRATCH_2": ("L-C48231E5", "L-AD2FC696"),
}
"""The quotas for the number and the capacity (GiB) of file systems of a deployment type."""

OPENZFS_QUOTAS = ("L-59D0763F", "L-88479C21")


@dataclass(frozen=True)
class FileSystem:
    """An FSx file system; `mount_name` and `deployment_type` are empty if it has none."""

    id: str
    type: str
    deployment_type: str
    capacity_gib: int
    lifecycle: str
    vpc_id: str
    mount_name: str


def _file_systems(clients: AwsClients, _: Resolved) -> tuple[FileSystem, ...]:
    found = all_of(clients.fsx, "describe_file_systems", "FileSystems")
    return tuple(_file_system(each) for each in found)


def _file_system(found: Any) -> FileSystem:
    settings = found.get("LustreConfiguration") or found.get("OpenZFSConfiguration") or {}
    return FileSystem(
        id=found["FileSystemId"],
        type=found["FileSystemType"],
        deployment_type=settings.get("DeploymentType", ""),
        capacity_gib=found.get("StorageCapacity", 0),
        lifecycle=found["Lifecycle"],
        vpc_id=found.get("VpcId", ""),
        mount_name=settings.get("MountName", ""),
    )


FILE_SYSTEMS = Question(
    "file_systems", "file systems", ("fsx:DescribeFileSystems",), ("fsx",), _file_systems
)


@PREFLIGHT.rule(
    "PRE-106",
    "Quotas allow the file systems",
    why="FSx counts file systems and their capacity by type; a file system beyond the quota "
    "fails in the middle of the deployment.",
    fix=INCREASE,
    source=FSX_QUOTAS,
)
def _quotas_allow_file_systems(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    there = facts[FILE_SYSTEMS]
    if there is None or not will_be_made(facts, resolved.stacks.storage):
        return
    held = [(_codes(each.type, each.deployment_type), each.capacity_gib) for each in there]
    for codes, capacity, path in _new_file_systems(resolved):
        same = [gib for of, gib in held if of == codes]
        for code, noun, used, more in (
            (codes[0], "file systems of this type", len(same), 1),
            (codes[1], "GiB in file systems of this type", sum(same), capacity),
        ):
            yield from Need("fsx", code, noun, used, more, path).finding(facts)
        held.append((codes, capacity))


def _new_file_systems(resolved: Resolved) -> Iterator[tuple[tuple[str, str], int, YamlPath]]:
    for lustre in resolved.lustre:
        codes = _codes("LUSTRE", lustre.settings.deployment_type)
        if not lustre.settings.existing and any(codes):
            yield codes, lustre.capacity_gib or 0, lustre.path
    if resolved.openzfs and not resolved.openzfs.settings.existing:
        yield OPENZFS_QUOTAS, resolved.openzfs.settings.capacity_gib, resolved.openzfs.path


def _codes(kind: str, deployment_type: str) -> tuple[str, str]:
    return OPENZFS_QUOTAS if kind == "OPENZFS" else LUSTRE_QUOTAS.get(deployment_type, ("", ""))


@PREFLIGHT.rule(
    "PRE-309",
    "Existing file systems are available",
    why="Nodes hang while they mount a file system that does not exist, is not available, or is "
    "in an unconnected VPC.",
    fix="correct the id and the mount name (aws fsx describe-file-systems)",
    source="https://docs.aws.amazon.com/fsx/latest/LustreGuide/mount-troubleshooting.html",
)
def _file_systems_can_be_mounted(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    there = facts[FILE_SYSTEMS]
    if there is None:
        return
    held = {each.id: each for each in there}
    for id_, mount_name, path in _existing_file_systems(resolved):
        found = held.get(id_)
        if found is None:
            yield Finding((*path, "id"), f"the account has no file system {id_}")
        else:
            yield from _unfit(found, mount_name, path, resolved.network.existing)


def _existing_file_systems(resolved: Resolved) -> Iterator[tuple[str, str, YamlPath]]:
    for lustre in resolved.lustre:
        if existing := lustre.settings.existing:
            yield existing.id, existing.mount_name, (*lustre.path, "existing")
    if resolved.openzfs and (openzfs := resolved.openzfs.settings.existing):
        yield openzfs.id, "", (*resolved.openzfs.path, "existing")


def _unfit(
    found: FileSystem, mount_name: str, path: YamlPath, network: NamedNetwork | None
) -> Iterator[Finding]:
    if found.lifecycle not in {"AVAILABLE", "UPDATING"}:
        yield Finding((*path, "id"), f"{found.id} is {found.lifecycle}")
    if found.mount_name != mount_name:
        yield Finding((*path, "mount_name"), f"{found.id} has the mount name {found.mount_name}")
    if network and found.vpc_id != network.vpc_id:
        yield Finding((*path, "id"), f"{found.id} is in {found.vpc_id}, not in {network.vpc_id}")


QUESTIONS = (FILE_SYSTEMS,)
