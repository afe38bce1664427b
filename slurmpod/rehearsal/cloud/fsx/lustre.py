"""What FSx for Lustre offers: the numbers of its user guide and API reference. Pure.

Sources: CreateFileSystem and CreateFileSystemLustreConfiguration (API reference); user guide,
"IP addresses for file systems" and "Lustre metadata performance configuration".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

THROUGHPUTS = {
    ("PERSISTENT_1", "SSD"): (50, 100, 200),
    ("PERSISTENT_1", "HDD"): (12, 40),
    ("PERSISTENT_2", "SSD"): (125, 250, 500, 1000),
}
"""MB/s per TiB that a deployment type sells on a storage type; others sell none."""

TIERING_THROUGHPUT_STEP = 4000
"""MB/s; a file system of Intelligent-Tiering has one storage server for each."""

EFA_STEPS_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
"""GiB of one storage server with EFA, by MB/s per TiB; capacities are multiples of it."""

TIERING_METADATA_IOPS = (6000, 12000)
_SSD_METADATA_IOPS = (1500, 3000, 6000, *range(12000, 192001, 12000))
_METADATA_IOPS_PER_SERVER = 12000

_HDD_STEPS_GIB = {12: 6000, 40: 1800}
_SSD_STEP_GIB = 2400
_SCRATCH_1_STEP_GIB = 3600


@dataclass(frozen=True)
class Lustre:
    """A Lustre file system as it is asked for, with what FSx assumes for the rest."""

    settings: Mapping[str, Any]
    """LustreConfiguration."""
    storage_type: str
    capacity_gib: int | None
    version: str

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Lustre:
        """Read a CreateFileSystem request, or what a file system has become since."""
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
        """Tell whether FSx keeps one copy of the data only."""
        return self.deployment_type.startswith("SCRATCH")

    @property
    def is_tiering(self) -> bool:
        """Tell whether the storage grows and shrinks by itself."""
        return self.storage_type == "INTELLIGENT_TIERING"

    @property
    def throughput(self) -> int | None:
        """MB/s per TiB."""
        return self.settings.get("PerUnitStorageThroughput")

    @property
    def throughputs(self) -> tuple[int, ...]:
        """MB/s per TiB that can be had."""
        return THROUGHPUTS.get((self.deployment_type, self.storage_type), ())

    @property
    def has_efa(self) -> bool:
        """Tell whether clients reach the servers by EFA."""
        return bool(self.settings.get("EfaEnabled"))

    @property
    def smallest_gib(self) -> int:
        """The smallest capacity."""
        return 1200 if self._is_plain_ssd else self.step_gib

    @property
    def step_gib(self) -> int:
        """Capacities are multiples of this, the smallest excepted; one storage server has it."""
        if self.storage_type == "HDD":
            return _HDD_STEPS_GIB.get(self.throughput or 0, max(_HDD_STEPS_GIB.values()))
        if self.has_efa:
            return EFA_STEPS_GIB.get(self.throughput or 0, max(EFA_STEPS_GIB.values()))
        return _SCRATCH_1_STEP_GIB if self.deployment_type == "SCRATCH_1" else _SSD_STEP_GIB

    @property
    def capacities(self) -> str:
        """Return the capacities that can be had, in words."""
        if not self._is_plain_ssd:
            return f"a multiple of {self.step_gib} GiB"
        return f"1200 GiB, 2400 GiB or a multiple of {self.step_gib} GiB"

    @property
    def metadata_iops_choices(self) -> tuple[int, ...]:
        """What USER_PROVISIONED metadata can have."""
        return TIERING_METADATA_IOPS if self.is_tiering else _SSD_METADATA_IOPS

    @property
    def metadata_iops(self) -> int | None:
        """Metadata operations per second; none without a metadata configuration."""
        metadata = self.settings.get("MetadataConfiguration")
        if metadata is None:
            return None
        return metadata.get("Iops") or automatic_metadata_iops(self.capacity_gib or 0)

    @property
    def servers(self) -> int:
        """Metadata and storage servers; each has a network interface."""
        metadata_servers = -(-(self.metadata_iops or 0) // _METADATA_IOPS_PER_SERVER)
        if self.is_tiering:
            throughput = int(self.settings.get("ThroughputCapacity", 0))
            return max(metadata_servers, 1) + throughput // TIERING_THROUGHPUT_STEP
        return max(metadata_servers, 1) + -(-(self.capacity_gib or 0) // self.step_gib)

    def fits(self, capacity_gib: int) -> bool:
        """Tell whether the capacity is one that can be had."""
        if self._is_plain_ssd and capacity_gib in (1200, 2400):
            return True
        return capacity_gib > 0 and capacity_gib % self.step_gib == 0

    @property
    def _is_plain_ssd(self) -> bool:
        return self.storage_type == "SSD" and not self.has_efa


def automatic_metadata_iops(capacity_gib: int) -> int:
    """Return what FSx provisions by itself for an SSD capacity.

    Whether it rounds to 24,000 GiB up or down is not documented; here down.
    """
    for up_to_gib, iops in ((1200, 1500), (2400, 3000), (9600, 6000), (45600, 12000)):
        if capacity_gib <= up_to_gib:
            return iops
    return 12000 * (capacity_gib // 24000)


def _default_version(settings: Mapping[str, Any]) -> str:
    if settings.get("DeploymentType") != "PERSISTENT_2":
        return "2.10"
    return "2.15" if "MetadataConfiguration" in settings else "2.12"
