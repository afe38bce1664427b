"""FSx for Lustre: the valid settings, and the refusals of CreateFileSystem. Pure.

Sources: CreateFileSystem and CreateFileSystemLustreConfiguration (API reference); user guide,
"IP addresses for file systems", "Lustre metadata performance configuration", "Deployment and
storage class options", "Working with EFA-enabled file systems". Messages are FSx's where public
reports of failed calls, October 2026, quote them; the rest are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from embedded_aws.errors import ServiceError
from embedded_aws.fsx.refusals import bad_request

THROUGHPUTS = {
    ("PERSISTENT_1", "SSD"): (50, 100, 200),
    ("PERSISTENT_1", "HDD"): (12, 40),
    ("PERSISTENT_2", "SSD"): (125, 250, 500, 1000),
}
"""MB/s per TiB offered by deployment and storage type; other combinations have none."""

_TIERING_THROUGHPUT_STEP = 4000
"""MB/s; an Intelligent-Tiering file system has one storage server for each."""

_SMALL_TIERING_THROUGHPUTS = (1000, 2000)
"""MB/s; these have one server too."""

EFA_STEPS_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
"""GiB of one storage server with EFA, by MB/s per TiB; capacities are multiples of it."""

METADATA_IOPS = (1500, 3000, 6000, *range(12000, 192001, 12000))
_METADATA_IOPS_PER_SERVER = 12000

_HDD_STEPS_GIB = {12: 6000, 40: 1800}
_SSD_STEP_GIB = 2400
_SCRATCH_1_STEP_GIB = 3600


@dataclass(frozen=True)
class Lustre:
    """A requested Lustre file system, with FSx's defaults for the rest."""

    settings: Mapping[str, Any]
    """LustreConfiguration."""
    storage_type: str
    capacity_gib: int | None
    version: str

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Lustre:
        """Read a CreateFileSystem request, as sent or as changed since."""
        settings = request.get("LustreConfiguration", {})
        return cls(
            settings={"DeploymentType": "SCRATCH_1", **settings},
            storage_type=request.get("StorageType", "SSD"),
            capacity_gib=request.get("StorageCapacity"),
            version=request.get("FileSystemTypeVersion") or _default_version(settings),
        )

    @property
    def deployment_type(self) -> str:
        """SCRATCH_1, SCRATCH_2, PERSISTENT_1 or PERSISTENT_2."""
        return str(self.settings["DeploymentType"])

    @property
    def is_scratch(self) -> bool:
        """Whether FSx keeps only one copy of the data."""
        return self.deployment_type.startswith("SCRATCH")

    @property
    def is_tiering(self) -> bool:
        """Whether the storage grows and shrinks automatically."""
        return self.storage_type == "INTELLIGENT_TIERING"

    @property
    def throughput(self) -> int | None:
        """MB/s per TiB."""
        return self.settings.get("PerUnitStorageThroughput")

    @property
    def throughputs(self) -> tuple[int, ...]:
        """Valid values of MB/s per TiB."""
        return THROUGHPUTS.get((self.deployment_type, self.storage_type), ())

    @property
    def has_efa(self) -> bool:
        """Whether clients reach the servers by EFA."""
        return bool(self.settings.get("EfaEnabled"))

    @property
    def step_gib(self) -> int:
        """The unit of capacities, except the smallest, and the capacity of one storage server."""
        if self.storage_type == "HDD":
            return _HDD_STEPS_GIB.get(self.throughput or 0, max(_HDD_STEPS_GIB.values()))
        if self.has_efa:
            return EFA_STEPS_GIB.get(self.throughput or 0, max(EFA_STEPS_GIB.values()))
        return _SCRATCH_1_STEP_GIB if self.deployment_type == "SCRATCH_1" else _SSD_STEP_GIB

    @property
    def capacities(self) -> str:
        """The valid capacities, in words."""
        if not self._is_plain_ssd:
            return f"a multiple of {self.step_gib} GiB"
        return f"1200 GiB, 2400 GiB or a multiple of {self.step_gib} GiB"

    @property
    def metadata_iops(self) -> int | None:
        """Metadata operations per second; none without a metadata configuration."""
        metadata = self.settings.get("MetadataConfiguration")
        if metadata is None:
            return None
        return metadata.get("Iops") or automatic_metadata_iops(self.capacity_gib)

    @property
    def servers(self) -> int:
        """Metadata and storage servers; each has a network interface."""
        metadata_servers = -(-(self.metadata_iops or 0) // _METADATA_IOPS_PER_SERVER)
        if self.is_tiering:
            throughput = int(self.settings.get("ThroughputCapacity", 0))
            return max(metadata_servers, 1) + -(-throughput // _TIERING_THROUGHPUT_STEP)
        return max(metadata_servers, 1) + -(-(self.capacity_gib or 0) // self.step_gib)

    def fits(self, capacity_gib: int) -> bool:
        """Return whether the capacity is valid."""
        if self._is_plain_ssd and capacity_gib in (1200, 2400):
            return True
        return capacity_gib > 0 and capacity_gib % self.step_gib == 0

    @property
    def _is_plain_ssd(self) -> bool:
        return self.storage_type == "SSD" and not self.has_efa


def is_tiering_throughput(mbps: int) -> bool:
    """Return whether this throughput is valid for Intelligent-Tiering."""
    return mbps in _SMALL_TIERING_THROUGHPUTS or mbps % _TIERING_THROUGHPUT_STEP == 0


def automatic_metadata_iops(capacity_gib: int | None) -> int:
    """Return the metadata IOPS that FSx provisions automatically for an SSD capacity.

    Whether it rounds to 24,000 GiB up or down is not documented; here it rounds down. The value for
    Intelligent-Tiering, which has no capacity, is not documented either; here it is the minimum.
    """
    capacity_gib = capacity_gib or 0
    for up_to_gib, iops in ((1200, 1500), (2400, 3000), (9600, 6000), (45600, 12000)):
        if capacity_gib <= up_to_gib:
            return iops
    return 12000 * (capacity_gib // 24000)


def _default_version(settings: Mapping[str, Any]) -> str:
    if settings.get("DeploymentType") != "PERSISTENT_2":
        return "2.10"
    return "2.15" if "MetadataConfiguration" in settings else "2.12"


VERSIONS = ("2.10", "2.12", "2.15")
_EFA_NEEDS = "EFA is only supported for PERSISTENT_2 filesystems with metadata configuration"
_BACKUPS = ("AutomaticBackupRetentionDays", "CopyTagsToBackups", "DailyAutomaticBackupStartTime")
_OLD_REPOSITORY = ("AutoImportPolicy", "ExportPath", "ImportPath", "ImportedFileChunkSize")
_LARGEST_CACHE_GIB, _SMALLEST_CACHE_GIB = 32768, 8
"""Per 1000 MB/s of throughput."""


def lustre_refusals(request: Mapping[str, Any]) -> Iterator[ServiceError]:
    """Yield every reason why FSx refuses to create this Lustre file system."""
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
    if throughput is None or not is_tiering_throughput(throughput):
        yield bad_request(
            "ThroughputCapacity must be 1000 MB/s, 2000 MB/s or a multiple of 4000 MB/s, "
            f"not {throughput}"
        )
    elif lustre.has_efa and throughput in _SMALL_TIERING_THROUGHPUTS:
        yield bad_request(f"EFA is not supported for ThroughputCapacity {throughput}")
    if cache is None:
        yield bad_request("DataReadCacheConfiguration is required for INTELLIGENT_TIERING")
    else:
        yield from _cache_rules(cache, throughput or _TIERING_THROUGHPUT_STEP)


def _cache_rules(cache: Mapping[str, Any], throughput: int) -> Iterator[ServiceError]:
    size, by_user = cache.get("SizeGiB"), cache.get("SizingMode") == "USER_PROVISIONED"
    parts = throughput // 1000
    smallest, largest = _SMALLEST_CACHE_GIB * parts, _LARGEST_CACHE_GIB * parts
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
    """Yield the errors in the metadata configuration, also of an update."""
    metadata = lustre.settings.get("MetadataConfiguration")
    if metadata is None:
        if lustre.is_tiering:
            yield bad_request("MetadataConfiguration is required for INTELLIGENT_TIERING")
        return
    mode, iops = metadata.get("Mode"), metadata.get("Iops")
    if lustre.deployment_type != "PERSISTENT_2":
        yield bad_request(
            f"Cannot specify metadata configuration for deployment type '{lustre.deployment_type}'."
        )
    elif mode == "AUTOMATIC" and iops is not None:
        yield bad_request("Iops of the metadata cannot be specified with mode AUTOMATIC")
    elif mode == "USER_PROVISIONED" and iops not in METADATA_IOPS:
        yield bad_request(f"Iops of the metadata must be one of {list(METADATA_IOPS)}, not {iops}")


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
    """Yield the errors in root squash: user and group must be both 0 or both not 0."""
    squash = settings.get("RootSquashConfiguration", {})
    ids = [int(number) for number in squash.get("RootSquash", "0:0").split(":")]
    if any(ids) and not all(ids):
        yield bad_request("RootSquash needs a user and a group that are both 0 or both not 0")
    if squash.get("NoSquashNids") and not any(ids):
        yield bad_request("NoSquashNids can only be specified when root squash is enabled")
