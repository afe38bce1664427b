"""Rules for buckets that nodes see as folders, by Mountpoint for Amazon S3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.bucket_names import mistake_in_bucket_name
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

BUCKETS = Area("BKT", "Buckets as folders")

BUCKET_NAMES = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"
MOUNTPOINT = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/mountpoint.html"

S3_MOUNTS = ("storage", "s3_mounts")


@BUCKETS.rule(
    "BKT-001",
    "The bucket can exist",
    why="S3 has rules for the names of buckets. Directory buckets and access points need other "
    "permissions than the nodes get.",
    fix="correct the name; it must be a general purpose bucket",
    source=BUCKET_NAMES,
)
def _names(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, mount in enumerate(environment.storage.s3_mounts):
        if mistake := mistake_in_bucket_name(mount.bucket):
            yield Finding((*S3_MOUNTS, index, "bucket"), mistake)


@BUCKETS.rule(
    "BKT-002",
    "The bucket's name has no dots",
    why="S3 is reached at <bucket>.s3.<Region>.amazonaws.com over HTTPS, and its certificate does "
    "not cover names with more dots.",
    fix="use a bucket without dots in its name",
    source=BUCKET_NAMES,
    severity=Severity.WARNING,
)
def _dots(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, mount in enumerate(environment.storage.s3_mounts):
        if "." in mount.bucket and not mistake_in_bucket_name(mount.bucket):
            message = f"'{mount.bucket}' has dots in its name"
            yield Finding((*S3_MOUNTS, index, "bucket"), message)


@BUCKETS.rule(
    "BKT-003",
    "Every part of a bucket is mounted once",
    why="Mounted twice, each mount keeps its own view of the same objects, and one does not see at "
    "once what was written through the other.",
    fix="remove one of the two, or correct its bucket or prefix",
    source=MOUNTPOINT,
    severity=Severity.WARNING,
)
def _mounted_once(environment: Environment, _: Resolved) -> Iterator[Finding]:
    seen: set[tuple[str, str | None]] = set()
    for index, mount in enumerate(environment.storage.s3_mounts):
        if (mount.bucket, mount.prefix) in seen:
            message = f"s3://{mount.bucket}/{mount.prefix or ''} is mounted already"
            yield Finding((*S3_MOUNTS, index, "bucket"), message)
        seen.add((mount.bucket, mount.prefix))


@BUCKETS.rule(
    "BKT-004",
    "Nodes do not write to the bucket of their own lifecycle scripts",
    why="What lies there runs as root on every new node: whoever can write to the mount could "
    "become root everywhere.",
    fix="mount another bucket, or write 'read_only: true'",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html",
)
def _not_our_scripts(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, mount in enumerate(environment.storage.s3_mounts):
        if mount.bucket == resolved.lifecycle.bucket and not mount.read_only:
            message = f"'{mount.bucket}' holds the scripts that run as root on new nodes"
            yield Finding((*S3_MOUNTS, index, "bucket"), message)
