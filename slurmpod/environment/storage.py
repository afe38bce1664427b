"""The `storage` section: shared storage of the nodes."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from slurmpod.environment.base import (
    BY_SCRIPTS,
    CANNOT_SHRINK,
    FILE_SYSTEM_AGAIN,
    GUARD,
    IN_PLACE,
    NEW_NODES,
    OTHER_FILE_SYSTEM,
    PATH_ON_NEW_NODES,
    STAYS,
    Effect,
    Kind,
    Section,
)
from slurmpod.environment.file_systems import Backups, FileSystemId, MaintenanceWindow, OnDelete
from slurmpod.environment.known import Known
from slurmpod.environment.lustre import AdditionalLustre, Lustre
from slurmpod.environment.names import BucketName, KmsKeyArn, MountPath


class ExistingOpenZfs(Section):
    """An existing FSx for OpenZFS file system."""

    id: Annotated[FileSystemId, OTHER_FILE_SYSTEM]
    """Id of the file system."""


class OpenZfs(Section):
    """An FSx for OpenZFS file system that every node mounts by NFS; the place for /home.

    In one zone, like the nodes: several would double the cost without helping jobs.
    """

    mount_path: Annotated[MountPath, PATH_ON_NEW_NODES] = "/home"
    """Folder on every node."""

    existing: Annotated[ExistingOpenZfs | None, OTHER_FILE_SYSTEM] = None
    """Your own file system, in place of a new one."""

    deployment_type: Annotated[str, Known("storage.openzfs.deployment_type"), FILE_SYSTEM_AGAIN] = (
        "SINGLE_AZ_HA_2"
    )
    """Generation, and whether a second server takes over when the first one fails (HA)."""

    capacity_gib: Annotated[
        int,
        Effect(
            Kind.IN_PLACE,
            "changed in place; FSx refuses less than 10 percent more at a time",
            less=CANNOT_SHRINK,
        ),
        Field(ge=64, le=524_288),
    ] = 256
    """Size in GiB; it grows in place and never shrinks."""

    throughput_mbps: Annotated[int | None, IN_PLACE, Field(ge=64, le=10_240)] = None
    """Throughput in MB/s; default: the least of the deployment type."""

    iops: Annotated[int | None, IN_PLACE, Field(ge=192, le=400_000)] = None
    """Provisioned SSD operations per second; default: 3 for each GiB."""

    compression: Annotated[str, Known("storage.openzfs.compression"), FILE_SYSTEM_AGAIN] = "ZSTD"
    """Compression of new data; a change replaces the file system with an empty one."""

    kms_key_arn: Annotated[KmsKeyArn | None, FILE_SYSTEM_AGAIN] = None
    """Key that encrypts the data; default: AWS's own for FSx."""

    backups: Annotated[Backups | None, IN_PLACE] = None
    """Daily backups; default: none."""

    maintenance_window: Annotated[MaintenanceWindow | None, IN_PLACE] = None
    """When FSx may patch the servers, such as 7:05:00 (Sunday, 5 o'clock UTC)."""

    on_delete: Annotated[OnDelete, GUARD] = "retain"
    """What happens to the data when the stack is deleted or the file system replaced."""


KEPT = Effect(Kind.LOSES, "nodes no longer mount it; the file system is kept and still billed")


class S3Mount(Section):
    """A bucket mounted as a folder, with Mountpoint for Amazon S3."""

    bucket: Annotated[BucketName, NEW_NODES]
    """Name of the bucket; it must exist."""

    prefix: Annotated[
        str | None, NEW_NODES, Field(pattern=r"^([^/\s]+/)+$", examples=["datasets/"])
    ] = None
    """Part of the bucket, ending in a slash; default: all of it."""

    mount_path: Annotated[MountPath, NEW_NODES]
    """Folder on every node."""

    read_only: Annotated[bool, NEW_NODES] = True
    """Whether the mount is read-only; otherwise nodes may also create objects."""

    kms_key_arn: Annotated[KmsKeyArn | None, NEW_NODES] = None
    """Key of the bucket's objects, if it is your own."""


class Scratch(Section):
    """The NVMe disks of a node as one volume: fast, local, and empty after every start."""

    mount_path: Annotated[MountPath, PATH_ON_NEW_NODES] = "/scratch"
    """Folder on every node that has such disks."""


class Storage(Section):
    """Shared storage of the nodes."""

    lustre: Annotated[Lustre | None, replace(IN_PLACE, removed=KEPT)] = Field(
        default_factory=Lustre.model_construct
    )
    """The main FSx for Lustre file system; `null` for none."""

    additional_lustre: Annotated[
        tuple[AdditionalLustre, ...], replace(IN_PLACE, removed=KEPT), Field(max_length=8)
    ] = ()
    """More FSx for Lustre file systems, each with its own name and mount path."""

    openzfs: Annotated[OpenZfs | None, replace(IN_PLACE, removed=KEPT)] = None
    """An FSx for OpenZFS file system, for home directories."""

    s3_mounts: Annotated[tuple[S3Mount, ...], NEW_NODES, Field(max_length=8)] = ()
    """Buckets mounted as folders."""

    scratch: Annotated[Scratch | None, replace(BY_SCRIPTS, removed=STAYS)] = None
    """The NVMe disks of nodes as one folder; default: as set up by the image."""
