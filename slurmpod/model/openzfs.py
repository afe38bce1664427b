"""The FSx for OpenZFS file system in the `storage` section."""

from typing import Annotated, Literal

from pydantic import Field

from slurmpod.model.base import Section
from slurmpod.model.file_systems import Backups, FileSystemId, MaintenanceWindow, OnDelete
from slurmpod.model.names import KmsKeyArn, MountPath


class ExistingOpenZfs(Section):
    """An FSx for OpenZFS file system that is there already."""

    id: FileSystemId
    """Id of the file system."""


class OpenZfs(Section):
    """An FSx for OpenZFS file system that every node mounts by NFS; the place for /home.

    In one zone, as the nodes are: with several, it would cost twice and help no job.
    """

    mount_path: MountPath = "/home"
    """Folder on every node."""

    existing: ExistingOpenZfs | None = None
    """Your own file system, in place of a new one."""

    deployment_type: Literal["SINGLE_AZ_1", "SINGLE_AZ_2", "SINGLE_AZ_HA_1", "SINGLE_AZ_HA_2"] = (
        "SINGLE_AZ_HA_2"
    )
    """Generation, and whether a second server takes over when the first one fails (HA)."""

    capacity_gib: Annotated[int, Field(ge=64, le=524_288)] = 256
    """Size in GiB; it grows in place and never shrinks."""

    throughput_mbps: Annotated[int | None, Field(ge=64, le=10_240)] = None
    """Throughput in MB/s; default: the least of the deployment type."""

    iops: Annotated[int | None, Field(ge=192, le=400_000)] = None
    """Provisioned SSD operations per second; default: 3 for each GiB."""

    compression: Literal["ZSTD", "LZ4", "NONE"] = "ZSTD"
    """Compression of new data; a change replaces the file system by an empty one."""

    kms_key_arn: KmsKeyArn | None = None
    """Key that encrypts the data; default: AWS's own for FSx."""

    backups: Backups | None = None
    """Daily backups; default: none."""

    maintenance_window: MaintenanceWindow | None = None
    """When FSx may patch the servers, such as 7:05:00 (Sunday, 5 o'clock UTC)."""

    on_delete: OnDelete = "retain"
    """What becomes of the data when the stack is deleted or the file system replaced."""
