"""Rules for FSx for Lustre: settings that go with a kind of file system, and tiering."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slurmpod.environment.facts import fact
from slurmpod.environment.file_systems import StorageType
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved, ResolvedLustre
from slurmpod.resolve.storage import (
    MBPS_PER_TIERING_SERVER,
    METADATA_IOPS_PER_SERVER,
    METADATA_VERSION,
    SMALL_METADATA_IOPS,
    SMALL_TIERING_MBPS,
    is_older,
)
from slurmpod.rules.file_systems import (
    API,
    CREATE_FILE_SYSTEM,
    CREATE_LUSTRE,
    DEPLOYMENT_TYPES,
    at,
    new_lustre,
)
from slurmpod.rules.registry import Area, Finding

LUSTRE = Area("LUS", "FSx for Lustre", reads=("storage",))

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

KNOWN_THROUGHPUT = fact("storage.lustre.throughput_mbps_per_tib")

WITH_LITTLE_THROUGHPUT = fact("regions.with_little_lustre_throughput")
"""Regions whose PERSISTENT_2 has 125 and 250 MB/s per TiB only and no EFA."""

LITTLE_THROUGHPUT = 250


@LUSTRE.rule(
    "LUS-001",
    "The deployment type has the storage type",
    why="HDD exists for PERSISTENT_1 only, INTELLIGENT_TIERING for PERSISTENT_2 only.",
    fix="choose another deployment_type or storage_type",
    source=CREATE_FILE_SYSTEM,
)
def _storage_type(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        kind = each.settings.deployment_type
        if each.settings.storage_type not in STORAGE_TYPES.get(kind, StorageType):
            message = f"there is no {each.settings.storage_type.value} for {kind}"
            fix = f"{kind} has {_either(kind.value for kind in STORAGE_TYPES[kind])}"
            yield at(each, "storage_type", message, fix)


@LUSTRE.rule(
    "LUS-002",
    "The throughput is one that FSx offers for this kind of file system",
    why="Each deployment and storage type has its own values; scratch file systems and "
    "INTELLIGENT_TIERING take none for each TiB.",
    fix="remove the key",
    source=CREATE_LUSTRE,
)
def _throughput(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        settings = each.settings
        value = settings.throughput_mbps_per_tib
        is_possible = settings.storage_type in STORAGE_TYPES.get(settings.deployment_type, ())
        offered = THROUGHPUT.get((settings.deployment_type, settings.storage_type), ())
        is_new = str(value) not in KNOWN_THROUGHPUT.values
        if value is None or is_new or not is_possible or value in offered:
            continue
        kind = f"{settings.deployment_type} on {settings.storage_type.value}"
        message = f"{kind} has no throughput of {value} MB/s per TiB"
        yield at(
            each, "throughput_mbps_per_tib", message, f"write {_either(offered)}" if offered else ""
        )


@LUSTRE.rule(
    "LUS-003",
    "Only persistent file systems have a key of your own",
    why="FSx encrypts scratch file systems with its own key.",
    fix="remove the key, or choose a persistent deployment_type",
    source=CREATE_FILE_SYSTEM,
)
def _key(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if each.settings.kms_key_arn and each.settings.deployment_type == "SCRATCH_2":
            yield at(each, "kms_key_arn", "scratch file systems take no key", at_key=True)


@LUSTRE.rule(
    "LUS-004",
    "Only persistent file systems have backups",
    why="FSx makes no backups of scratch file systems.",
    fix="remove the key, or choose a persistent deployment_type",
    source=BACKUPS,
)
def _backups(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if each.settings.backups and each.settings.deployment_type == "SCRATCH_2":
            yield at(each, "backups", "scratch file systems have no backups", at_key=True)


@LUSTRE.rule(
    "LUS-005",
    "PERSISTENT_2 has Lustre 2.12 or newer",
    why="CreateFileSystem fails for PERSISTENT_2 with 2.10.",
    fix=f"write {METADATA_VERSION}, or remove the key",
    source=CREATE_FILE_SYSTEM,
)
def _oldest_version(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if each.settings.version == "2.10" and each.settings.deployment_type == "PERSISTENT_2":
            yield at(each, "version", "PERSISTENT_2 has no Lustre 2.10")


@LUSTRE.rule(
    "LUS-006",
    f"A new file system has Lustre {METADATA_VERSION}",
    why="AWS recommends it for all new file systems. A PERSISTENT_2 file system that begins with "
    "an older version has no metadata configuration, and none can be added later.",
    fix=f"write {METADATA_VERSION}, or remove the key",
    source=CREATE_FILE_SYSTEM,
    severity=Severity.WARNING,
)
def _newest_version(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        version = each.settings.version
        is_refused = version == "2.10" and each.settings.deployment_type == "PERSISTENT_2"
        if is_older(version, METADATA_VERSION) and not is_refused:
            yield at(each, "version", f"Lustre {version} is an old version to begin with")


@LUSTRE.rule(
    "LUS-007",
    "Only HDD has a drive cache",
    why="The cache of SSDs is in front of hard disks; FSx refuses it elsewhere.",
    fix="remove the key, or choose storage_type HDD",
    source=CREATE_LUSTRE,
)
def _drive_cache(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if each.settings.drive_cache and each.settings.storage_type is not StorageType.HDD:
            message = f"{each.settings.storage_type.value} has no drive cache"
            yield at(each, "drive_cache", message, at_key=True)


@LUSTRE.rule(
    "LUS-008",
    "Only PERSISTENT_2 with the newest version provisions metadata operations",
    why=f"The metadata configuration belongs to PERSISTENT_2 with Lustre {METADATA_VERSION}.",
    fix=f"remove the key, or choose PERSISTENT_2 and version {METADATA_VERSION}",
    source=METADATA,
)
def _metadata(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if each.settings.metadata_iops and not each.has_metadata_configuration:
            kind = f"{each.settings.deployment_type} with Lustre {each.settings.version}"
            message = f"{kind} provisions no metadata operations"
            yield at(each, "metadata_iops", message, at_key=True)


@LUSTRE.rule(
    "LUS-009",
    "Metadata operations come in steps",
    why="FSx provisions 1500, 3000, 6000, or a multiple of 12000 metadata operations per second.",
    fix="write 1500, 3000, 6000, a multiple of 12000, or 0: FSx chooses",
    source=METADATA,
)
def _metadata_steps(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        iops = each.settings.metadata_iops
        if not iops or not each.has_metadata_configuration:
            continue
        if iops not in SMALL_METADATA_IOPS and iops % METADATA_IOPS_PER_SERVER:
            message = f"FSx does not provision {iops} metadata operations per second"
            yield at(each, "metadata_iops", message)


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
def _replicated(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        if each.settings.deployment_type == "SCRATCH_2":
            message = f"data at {each.settings.mount_path} are lost when a server fails"
            yield at(each, "deployment_type", message)


@LUSTRE.rule(
    "LUS-011",
    "The Region has this throughput",
    why="In some Regions PERSISTENT_2 has 125 and 250 MB/s per TiB only, and no EFA.",
    fix="write 125 or 250, or look up whether FSx offers more there by now",
    source=DEPLOYMENT_TYPES,
    severity=Severity.WARNING,
    reads=("region", "storage"),
)
def _throughput_in_region(resolved: Resolved) -> Iterator[Finding]:
    if resolved.region not in WITH_LITTLE_THROUGHPUT.values:
        return
    for each in new_lustre(resolved):
        if (each.settings.throughput_mbps_per_tib or 0) > LITTLE_THROUGHPUT:
            when = WITH_LITTLE_THROUGHPUT.when
            message = f"FSx had at most 250 MB/s per TiB in {resolved.region} (as of {when})"
            yield at(each, "throughput_mbps_per_tib", message)


def _either(values: Iterable[object]) -> str:
    """Return "50, 100 or 200"."""
    *first, last = map(str, values)
    return f"{', '.join(first)} or {last}" if first else last


TIERING = Area("TIE", "Intelligent-Tiering", reads=("storage",))

READ_CACHE = f"{API}/API_LustreReadCacheConfiguration.html"

SMALLEST_CACHE_GIB = 8
LARGEST_CACHE_GIB = 32_768
"""Both for every 1000 MB/s of throughput."""


@TIERING.rule(
    "TIE-001",
    "Intelligent-Tiering has no capacity",
    why="It grows and shrinks with the data; FSx refuses a capacity.",
    fix="remove the key",
    source=CREATE_FILE_SYSTEM,
)
def _capacity(resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(resolved):
        if "capacity_gib" in each.settings.model_fields_set:
            message = "INTELLIGENT_TIERING takes no capacity"
            yield at(each, "capacity_gib", message, at_key=True)


@TIERING.rule(
    "TIE-002",
    "Only Intelligent-Tiering has a separate throughput and a read cache",
    why="The throughput of SSD and HDD follows from their capacity, and they take no read cache.",
    fix="remove the key, or choose storage_type INTELLIGENT_TIERING",
    source=CREATE_LUSTRE,
)
def _others(resolved: Resolved) -> Iterator[Finding]:
    for each in new_lustre(resolved):
        settings = each.settings
        if settings.storage_type is StorageType.INTELLIGENT_TIERING:
            continue
        given = {
            "throughput_mbps": settings.throughput_mbps,
            "read_cache_gib": settings.read_cache_gib,
        }
        for key, value in given.items():
            if value is not None:
                message = f"{settings.storage_type.value} takes no {key}"
                yield at(each, key, message, at_key=True)


@TIERING.rule(
    "TIE-003",
    "The throughput is one that Intelligent-Tiering has",
    why="FSx offers 1000 MB/s, 2000 MB/s, and multiples of 4000 MB/s.",
    fix="write 1000, 2000, or a multiple of 4000",
    source=CREATE_LUSTRE,
)
def _throughput_of_tiering(resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(resolved):
        mbps = each.settings.throughput_mbps or MBPS_PER_TIERING_SERVER
        if mbps not in SMALL_TIERING_MBPS and mbps % MBPS_PER_TIERING_SERVER:
            below = mbps // MBPS_PER_TIERING_SERVER * MBPS_PER_TIERING_SERVER
            offered = (*SMALL_TIERING_MBPS, below, below + MBPS_PER_TIERING_SERVER)
            less, more = max(x for x in offered if x < mbps), min(x for x in offered if x > mbps)
            message = f"INTELLIGENT_TIERING has no throughput of {mbps} MB/s"
            yield at(each, "throughput_mbps", message, f"write {less} or {more}")


@TIERING.rule(
    "TIE-004",
    "The read cache fits the throughput",
    why="FSx spreads the cache over the servers: 8 to 32768 GiB for every 1000 MB/s, or none.",
    fix="choose another size, write 0 for no cache, or remove the key: FSx then sizes it in "
    "proportion to throughput",
    source=READ_CACHE,
)
def _read_cache(resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(resolved):
        gib = each.settings.read_cache_gib
        parts = (each.throughput_mbps or 0) // 1000
        least, most = parts * SMALLEST_CACHE_GIB, parts * LARGEST_CACHE_GIB
        if gib and not least <= gib <= most:
            message = f"{parts * 1000} MB/s have a cache of {least} to {most} GiB"
            yield at(each, "read_cache_gib", message)


@TIERING.rule(
    "TIE-005",
    f"Intelligent-Tiering has Lustre {METADATA_VERSION}",
    why="It cannot be without a metadata configuration, which older versions do not have.",
    fix=f"write {METADATA_VERSION}, or remove the key",
    source=CREATE_FILE_SYSTEM,
)
def _version(resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(resolved):
        if is_older(each.settings.version, METADATA_VERSION):
            message = f"INTELLIGENT_TIERING has no Lustre {each.settings.version}"
            yield at(each, "version", message)


@TIERING.rule(
    "TIE-006",
    "Intelligent-Tiering with EFA has 4000 MB/s or more",
    why="FSx offers EFA where the throughput is a multiple of 4000 MB/s, and it cannot be added "
    "later.",
    fix="write a multiple of 4000 as throughput_mbps, or remove 'efa'",
    source=CREATE_LUSTRE,
)
def _efa_of_tiering(resolved: Resolved) -> Iterator[Finding]:
    for each in _tiering(resolved):
        if each.settings.efa and each.throughput_mbps in SMALL_TIERING_MBPS:
            yield at(each, "efa", f"{each.throughput_mbps} MB/s have no EFA")


def _tiering(resolved: Resolved) -> Iterator[ResolvedLustre]:
    """Return the new Intelligent-Tiering file systems that are possible at all."""
    for each in new_lustre(resolved):
        is_tiering = each.settings.storage_type is StorageType.INTELLIGENT_TIERING
        if is_tiering and each.settings.deployment_type == "PERSISTENT_2":
            yield each
