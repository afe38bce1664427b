"""The `storage` section: what the cluster's nodes share."""

from typing import Annotated

from pydantic import Field

from slurmpod.model.base import Section
from slurmpod.model.lustre import AdditionalLustre, Lustre
from slurmpod.model.names import BucketName, KmsKeyArn, MountPath
from slurmpod.model.openzfs import OpenZfs


class S3Mount(Section):
    """A bucket that nodes see as a folder, by Mountpoint for Amazon S3."""

    bucket: BucketName
    """Name of the bucket; it must exist."""

    prefix: Annotated[str | None, Field(pattern=r"^([^/\s]+/)+$", examples=["datasets/"])] = None
    """Part of the bucket, ending in a slash; default: all of it."""

    mount_path: MountPath
    """Folder on every node."""

    read_only: bool = True
    """Whether nodes may only read; otherwise they may create new objects too."""

    kms_key_arn: KmsKeyArn | None = None
    """Key with which the bucket's objects are encrypted, when it is your own."""


class Scratch(Section):
    """The NVMe disks of a node as one volume: fast, the node's own, and empty after every start."""

    mount_path: MountPath = "/scratch"
    """Folder on every node that has such disks."""


class Storage(Section):
    """What the cluster's nodes share."""

    lustre: Lustre | None = Field(default_factory=Lustre.model_construct)
    """The main FSx for Lustre file system; `null` for none."""

    additional_lustre: Annotated[tuple[AdditionalLustre, ...], Field(max_length=8)] = ()
    """More FSx for Lustre file systems, each with its own name and mount path."""

    openzfs: OpenZfs | None = None
    """An FSx for OpenZFS file system, for home directories."""

    s3_mounts: Annotated[tuple[S3Mount, ...], Field(max_length=8)] = ()
    """Buckets that nodes see as folders."""

    scratch: Scratch | None = None
    """The NVMe disks of nodes as one folder; default: as the image has them."""
