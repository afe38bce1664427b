"""The `storage` section: the shared file system."""

from typing import Annotated, Literal

from pydantic import Field

from slurmpod.model.base import Section


class Lustre(Section):
    """An FSx for Lustre file system (PERSISTENT_2, SSD) that every node mounts."""

    capacity_gib: Annotated[int, Field(ge=1200)] = 1200
    """Size in GiB: 1200, 2400, or a multiple of 2400."""

    throughput_mbps_per_tib: Literal[125, 250, 500, 1000] = 250
    """Throughput in MB/s for each TiB of capacity."""

    compression: Literal["LZ4", "NONE"] = "LZ4"
    """Compression of new data on the servers."""

    mount_path: Annotated[str, Field(pattern=r"^/[a-z0-9][a-z0-9_-]*$", examples=["/fsx"])] = "/fsx"
    """Folder on every node: a top-level one."""


class Storage(Section):
    """What the cluster's nodes share."""

    lustre: Lustre = Field(default_factory=Lustre)
    """The FSx for Lustre file system."""
