"""Rules for FSx for Lustre: which settings go with which kind of file system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.file_systems import StorageType
from slurmpod.problems import Severity
from slurmpod.resolve.storage import METADATA_IOPS_PER_SERVER, METADATA_VERSION
from slurmpod.rules.file_systems import (
    API,
    CREATE_FILE_SYSTEM,
    CREATE_LUSTRE,
    DEPLOYMENT_TYPES,
    new_lustre,
)
from slurmpod.rules.registry import Area

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved
    from slurmpod.rules.registry import Finding

LUSTRE = Area("LUS", "FSx for Lustre")

METADATA = f"{API}/API_CreateFileSystemLustreMetadataConfiguration.html"
BACKUPS = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-backups-fsx.html"

STORAGE_TYPES = {
    "PERSISTENT_2": (StorageType.SSD, StorageType.INTELLIGENT_TIERING),
    "PERSISTENT_1": (StorageType.SSD, StorageType.HDD),
    "SCRATCH_2": (StorageType.SSD,),
}
THROUGHPUT = {
    ("PERSISTENT_2", StorageType.SSD): (125, 250, 500, 1000),
    ("PERSISTENT_1", StorageType.SSD): (50, 100, 200),
    ("PERSISTENT_1", StorageType.HDD): (12, 40),
}
"""MB/s per TiB; every other combination takes no such value."""

SMALL_METADATA_IOPS = (1500, 3000, 6000)

REGIONS_WITH_LITTLE_THROUGHPUT = frozenset(
    {"ap-east-2", "ap-southeast-5", "ap-southeast-7", "ca-west-1", "il-central-1", "mx-central-1"}
)
"""Regions whose PERSISTENT_2 has 125 and 250 MB/s per TiB only and no EFA, from the FSx for Lustre
user guide, mid 2026."""

LITTLE_THROUGHPUT = 250


@LUSTRE.rule(
    "LUS-001",
    "The deployment type has the storage type",
    why="HDD exists for PERSISTENT_1 only, INTELLIGENT_TIERING for PERSISTENT_2 only.",
    fix="choose another deployment_type or storage_type",
    source=CREATE_FILE_SYSTEM,
)
def _storage_type(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        kind = each.settings.deployment_type
        if each.settings.storage_type not in STORAGE_TYPES[kind]:
            message = f"there is no {each.settings.storage_type.value} for {kind}"
            fix = f"{kind} has {_either(kind.value for kind in STORAGE_TYPES[kind])}"
            yield each.finding("storage_type", message, fix)


@LUSTRE.rule(
    "LUS-002",
    "The throughput is one that FSx offers for this kind of file system",
    why="Each deployment and storage type has its own values; scratch file systems and "
    "INTELLIGENT_TIERING take none for each TiB.",
    fix="remove the key",
    source=CREATE_LUSTRE,
)
def _throughput(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        settings = each.settings
        value = settings.throughput_mbps_per_tib
        is_possible = settings.storage_type in STORAGE_TYPES[settings.deployment_type]
        offered = THROUGHPUT.get((settings.deployment_type, settings.storage_type), ())
        if value is None or not is_possible or value in offered:
            continue
        kind = f"{settings.deployment_type} on {settings.storage_type.value}"
        message = f"{kind} has no throughput of {value} MB/s per TiB"
        yield each.finding(
            "throughput_mbps_per_tib", message, f"write {_either(offered)}" if offered else ""
        )


@LUSTRE.rule(
    "LUS-003",
    "Only persistent file systems have a key of your own",
    why="FSx encrypts scratch file systems with its own key.",
    fix="remove the key, or choose a persistent deployment_type",
    source=CREATE_FILE_SYSTEM,
)
def _key(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        if each.settings.kms_key_arn and each.settings.deployment_type == "SCRATCH_2":
            yield each.finding("kms_key_arn", "scratch file systems take no key", at_key=True)


@LUSTRE.rule(
    "LUS-004",
    "Only persistent file systems have backups",
    why="FSx makes no backups of scratch file systems.",
    fix="remove the key, or choose a persistent deployment_type",
    source=BACKUPS,
)
def _backups(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        if each.settings.backups and each.settings.deployment_type == "SCRATCH_2":
            yield each.finding("backups", "scratch file systems have no backups", at_key=True)


@LUSTRE.rule(
    "LUS-005",
    "PERSISTENT_2 has Lustre 2.12 or newer",
    why="CreateFileSystem fails for PERSISTENT_2 with 2.10.",
    fix=f"write {METADATA_VERSION}, or remove the key",
    source=CREATE_FILE_SYSTEM,
)
def _oldest_version(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        if each.settings.version == "2.10" and each.settings.deployment_type == "PERSISTENT_2":
            yield each.finding("version", "PERSISTENT_2 has no Lustre 2.10")


@LUSTRE.rule(
    "LUS-006",
    f"A new file system has Lustre {METADATA_VERSION}",
    why="AWS recommends it for all new file systems. A PERSISTENT_2 file system that begins with "
    "an older version has no metadata configuration, and none can be added later.",
    fix=f"write {METADATA_VERSION}, or remove the key",
    source=CREATE_FILE_SYSTEM,
    severity=Severity.WARNING,
)
def _newest_version(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        version = each.settings.version
        is_refused = version == "2.10" and each.settings.deployment_type == "PERSISTENT_2"
        if version != METADATA_VERSION and not is_refused:
            yield each.finding("version", f"Lustre {version} is an old version to begin with")


@LUSTRE.rule(
    "LUS-007",
    "Only HDD has a drive cache",
    why="The cache of SSDs is in front of hard disks; FSx refuses it elsewhere.",
    fix="remove the key, or choose storage_type HDD",
    source=CREATE_LUSTRE,
)
def _drive_cache(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        if each.settings.drive_cache and each.settings.storage_type is not StorageType.HDD:
            message = f"{each.settings.storage_type.value} has no drive cache"
            yield each.finding("drive_cache", message, at_key=True)


@LUSTRE.rule(
    "LUS-008",
    "Only PERSISTENT_2 with the newest version provisions metadata operations",
    why=f"The metadata configuration belongs to PERSISTENT_2 with Lustre {METADATA_VERSION}.",
    fix=f"remove the key, or choose PERSISTENT_2 and version {METADATA_VERSION}",
    source=METADATA,
)
def _metadata(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        if each.settings.metadata_iops and not each.resolved.has_metadata_configuration:
            kind = f"{each.settings.deployment_type} with Lustre {each.settings.version}"
            message = f"{kind} provisions no metadata operations"
            yield each.finding("metadata_iops", message, at_key=True)


@LUSTRE.rule(
    "LUS-009",
    "Metadata operations come in steps",
    why="SSD file systems have 1500, 3000, 6000, or a multiple of 12000 metadata operations per "
    "second; INTELLIGENT_TIERING has 6000 or 12000.",
    fix="write 1500, 3000, 6000, or a multiple of 12000",
    source=METADATA,
)
def _metadata_steps(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        iops = each.settings.metadata_iops
        if iops is None or not each.resolved.has_metadata_configuration:
            continue
        if each.settings.storage_type is StorageType.INTELLIGENT_TIERING:
            if iops not in (6000, 12000):
                message = f"INTELLIGENT_TIERING has no {iops} metadata operations per second"
                yield each.finding("metadata_iops", message, "write 6000 or 12000")
        elif iops not in SMALL_METADATA_IOPS and iops % METADATA_IOPS_PER_SERVER:
            message = f"FSx does not provision {iops} metadata operations per second"
            yield each.finding("metadata_iops", message)


@LUSTRE.rule(
    "LUS-010",
    "Data are replicated",
    why="A scratch file system loses the files on a server that fails, for good, and jobs see "
    "errors at once.",
    fix="choose a persistent deployment_type; for data that can be lost, accept the warning with "
    "'suppress'",
    source=DEPLOYMENT_TYPES,
    severity=Severity.WARNING,
)
def _replicated(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(environment, resolved):
        if each.settings.deployment_type == "SCRATCH_2":
            message = f"data at {each.settings.mount_path} are lost when a server fails"
            yield each.finding("deployment_type", message)


@LUSTRE.rule(
    "LUS-011",
    "The Region has this throughput",
    why="In some Regions PERSISTENT_2 has 125 and 250 MB/s per TiB only, and no EFA.",
    fix="write 125 or 250, or look up whether FSx offers more there by now",
    source=DEPLOYMENT_TYPES,
    severity=Severity.WARNING,
)
def _throughput_in_region(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if environment.region not in REGIONS_WITH_LITTLE_THROUGHPUT:
        return
    for each in new_lustre(environment, resolved):
        if (each.settings.throughput_mbps_per_tib or 0) > LITTLE_THROUGHPUT:
            message = f"FSx had no more than 250 MB/s per TiB in {environment.region} in 2026"
            yield each.finding("throughput_mbps_per_tib", message)


def _either(values: Iterable[object]) -> str:
    """Return "50, 100 or 200"."""
    *first, last = map(str, values)
    return f"{', '.join(first)} or {last}" if first else last
