"""What CreateFileSystem refuses for Lustre, in FSx's words where they are known. Pure.

Words in quotation marks in public reports of failed calls, October 2026; the rest is ours. Sources
of the rules: API reference of CreateFileSystem and its Lustre configuration, FSx for Lustre user
guide ("Deployment and storage class options", "Working with EFA-enabled file systems").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.errors import ServiceError
from slurmpod.rehearsal.cloud.fsx.lustre import TIERING_THROUGHPUT_STEP, Lustre
from slurmpod.rehearsal.cloud.fsx.refusals import bad_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VERSIONS = ("2.10", "2.12", "2.15")
_EFA_NEEDS = "EFA is only supported for PERSISTENT_2 filesystems with metadata configuration"
_BACKUPS = ("AutomaticBackupRetentionDays", "CopyTagsToBackups", "DailyAutomaticBackupStartTime")
_OLD_REPOSITORY = ("AutoImportPolicy", "ExportPath", "ImportPath", "ImportedFileChunkSize")
_LARGEST_CACHE_GIB, _SMALLEST_CACHE_GIB = 131072, 32
"""Per 4000 MB/s of throughput."""


def lustre_refusals(request: Mapping[str, Any]) -> Iterator[ServiceError]:
    """Yield every reason for which FSx does not create this Lustre file system."""
    lustre = Lustre.of(request)
    if len(request["SubnetIds"]) != 1:
        yield bad_request("Exactly one subnet ID must be provided for a Lustre file system")
    if lustre.is_scratch and "KmsKeyId" in request:
        yield bad_request(f"KmsKeyId is not supported for {lustre.deployment_type} file systems")
    yield from _storage_rules(lustre)
    yield from _capacity_rules(lustre)
    yield from _throughput_rules(lustre)
    yield from _tiering_rules(lustre)
    yield from _version_rules(lustre)
    yield from metadata_rules(lustre)
    yield from _repository_rules(lustre)
    yield from root_squash_rules(lustre.settings)
    if lustre.is_scratch and any(lustre.settings.get(name) for name in _BACKUPS):
        yield bad_request(f"Backups are not supported for {lustre.deployment_type} file systems")


def _storage_rules(lustre: Lustre) -> Iterator[ServiceError]:
    deployment, cache = lustre.deployment_type, lustre.settings.get("DriveCacheType")
    if lustre.storage_type == "HDD" and deployment != "PERSISTENT_1":
        yield bad_request(
            f"StorageType HDD is not supported for file systems with DeploymentType: {deployment}."
        )
    elif lustre.storage_type == "HDD" and cache is None:
        yield bad_request(
            "DriveCacheType must be provided for storage type HDD. Supported values are [NONE,READ]"
        )
    if cache is not None and lustre.storage_type != "HDD":
        yield bad_request("DriveCacheType can only be provided for storage type HDD")
    if lustre.is_tiering and deployment != "PERSISTENT_2":
        yield bad_request(
            "Invalid Deployment type specified for INTELLIGENT TIERING file systems. "
            "DeploymentType must be PERSISTENT_2."
        )
    if lustre.has_efa and (deployment != "PERSISTENT_2" or lustre.metadata_iops is None):
        yield bad_request(_EFA_NEEDS)


def _capacity_rules(lustre: Lustre) -> Iterator[ServiceError]:
    if lustre.is_tiering:
        if lustre.capacity_gib is not None:
            yield bad_request("StorageCapacity cannot be specified for INTELLIGENT_TIERING")
    elif lustre.capacity_gib is None or not lustre.fits(lustre.capacity_gib):
        efa = " with EFA" if lustre.has_efa else ""
        yield bad_request(
            f"StorageCapacity {lustre.capacity_gib} is not valid for {lustre.deployment_type} "
            f"{lustre.storage_type} file systems{efa}: it must be {lustre.capacities}"
        )


def _throughput_rules(lustre: Lustre) -> Iterator[ServiceError]:
    if lustre.throughputs and lustre.throughput not in lustre.throughputs:
        values = ",".join(map(str, lustre.throughputs))
        yield ServiceError(
            "InvalidPerUnitStorageThroughput",
            f"The storage throughput (MB/s/TiB) value should be one of [{values}].",
        )
    if not lustre.throughputs and lustre.throughput is not None:
        yield bad_request(
            f"PerUnitStorageThroughput is not supported for {lustre.deployment_type} "
            f"{lustre.storage_type} file systems"
        )


def _tiering_rules(lustre: Lustre) -> Iterator[ServiceError]:
    throughput = lustre.settings.get("ThroughputCapacity")
    cache = lustre.settings.get("DataReadCacheConfiguration")
    if not lustre.is_tiering:
        for name in ("ThroughputCapacity", "DataReadCacheConfiguration"):
            if name in lustre.settings:
                yield bad_request(f"{name} needs StorageType INTELLIGENT_TIERING")
        return
    if throughput is None or throughput % TIERING_THROUGHPUT_STEP:
        yield bad_request(
            f"ThroughputCapacity must be {TIERING_THROUGHPUT_STEP} MB/s or a multiple of it, "
            f"not {throughput}"
        )
    if cache is None:
        yield bad_request("DataReadCacheConfiguration is required for INTELLIGENT_TIERING")
    else:
        yield from _cache_rules(cache, throughput or TIERING_THROUGHPUT_STEP)


def _cache_rules(cache: Mapping[str, Any], throughput: int) -> Iterator[ServiceError]:
    size, by_user = cache.get("SizeGiB"), cache.get("SizingMode") == "USER_PROVISIONED"
    servers = throughput // TIERING_THROUGHPUT_STEP
    smallest, largest = _SMALLEST_CACHE_GIB * servers, _LARGEST_CACHE_GIB * servers
    if by_user and not (size and smallest <= size <= largest):
        yield bad_request(
            f"SizeGiB of the read cache must be from {smallest} to {largest} for {throughput} "
            f"MB/s, not {size}"
        )
    if not by_user and size is not None:
        yield bad_request("SizeGiB of the read cache needs SizingMode USER_PROVISIONED")


def _version_rules(lustre: Lustre) -> Iterator[ServiceError]:
    if lustre.version not in VERSIONS:
        yield bad_request(
            f"FileSystemTypeVersion {lustre.version} is not one of [{','.join(VERSIONS)}]"
        )
    if lustre.deployment_type == "PERSISTENT_2" and lustre.version == "2.10":
        yield bad_request("FileSystemTypeVersion 2.10 is not supported for PERSISTENT_2")
    if lustre.metadata_iops is not None and lustre.version in VERSIONS[:-1]:
        yield bad_request(
            "A FileSystemTypeVersion of '2.15' is required when specifying a metadata configuration"
        )


def metadata_rules(lustre: Lustre) -> Iterator[ServiceError]:
    """Yield what is wrong with the metadata configuration, also of an update."""
    metadata = lustre.settings.get("MetadataConfiguration")
    if metadata is None:
        if lustre.is_tiering:
            yield bad_request("MetadataConfiguration is required for INTELLIGENT_TIERING")
        return
    mode, iops, choices = metadata.get("Mode"), metadata.get("Iops"), lustre.metadata_iops_choices
    if lustre.deployment_type != "PERSISTENT_2":
        yield bad_request(
            f"Cannot specify metadata configuration for deployment type '{lustre.deployment_type}'."
        )
    elif mode == "AUTOMATIC" and lustre.is_tiering:
        yield bad_request("Metadata mode AUTOMATIC is not supported for INTELLIGENT_TIERING")
    elif mode == "AUTOMATIC" and iops is not None:
        yield bad_request("Iops of the metadata cannot be specified with mode AUTOMATIC")
    elif mode == "USER_PROVISIONED" and iops not in choices:
        yield bad_request(f"Iops of the metadata must be one of {list(choices)}, not {iops}")


def _repository_rules(lustre: Lustre) -> Iterator[ServiceError]:
    given = [name for name in _OLD_REPOSITORY if name in lustre.settings]
    if given and lustre.deployment_type == "PERSISTENT_2":
        yield bad_request(
            "Linking a Persistent 2 file system to an S3 bucket using the LustreConfiguration is "
            "not supported. Create a file system and then create a data repository association to "
            "link S3 buckets to the file system."
        )
    elif given:
        yield bad_request(
            f"{', '.join(given)}: not supported by the embedded AWS, which links buckets by data "
            "repository associations"
        )


def root_squash_rules(settings: Mapping[str, Any]) -> Iterator[ServiceError]:
    """Yield what is wrong with root squash: user and group are both 0, or both not."""
    squash = settings.get("RootSquashConfiguration", {})
    ids = [int(number) for number in squash.get("RootSquash", "0:0").split(":")]
    if any(ids) and not all(ids):
        yield bad_request("RootSquash needs a user and a group that are both 0 or both not 0")
    if squash.get("NoSquashNids") and not any(ids):
        yield bad_request("NoSquashNids can only be specified when root squash is enabled")
