"""The `storage` section: what the cluster's nodes share."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from slurmpod.environment.base import (
    BY_SCRIPTS,
    IN_PLACE,
    NEW_NODES,
    PATH_ON_NEW_NODES,
    STAYS,
    Effect,
    Kind,
    Section,
)
from slurmpod.environment.lustre import AdditionalLustre, Lustre
from slurmpod.environment.names import BucketName, KmsKeyArn, MountPath
from slurmpod.environment.openzfs import OpenZfs

KEPT = Effect(Kind.LOSES, "nodes lose it; the file system is kept, and costs")


class S3Mount(Section):
    """A bucket that nodes see as a folder, by Mountpoint for Amazon S3."""

    bucket: Annotated[BucketName, NEW_NODES]
    """Name of the bucket; it must exist."""

    prefix: Annotated[
        str | None, NEW_NODES, Field(pattern=r"^([^/\s]+/)+$", examples=["datasets/"])
    ] = None
    """Part of the bucket, ending in a slash; default: all of it."""

    mount_path: Annotated[MountPath, NEW_NODES]
    """Folder on every node."""

    read_only: Annotated[bool, NEW_NODES] = True
    """Whether nodes may only read; otherwise they may create new objects too."""

    kms_key_arn: Annotated[KmsKeyArn | None, NEW_NODES] = None
    """Key with which the bucket's objects are encrypted, when it is your own."""


class Scratch(Section):
    """The NVMe disks of a node as one volume: fast, the node's own, and empty after every start."""

    mount_path: Annotated[MountPath, PATH_ON_NEW_NODES] = "/scratch"
    """Folder on every node that has such disks."""


class Storage(Section):
    """What the cluster's nodes share."""

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
    """Buckets that nodes see as folders."""

    scratch: Annotated[Scratch | None, replace(BY_SCRIPTS, removed=STAYS)] = None
    """The NVMe disks of nodes as one folder; default: as the image has them."""
