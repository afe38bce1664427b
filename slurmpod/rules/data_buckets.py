"""Rules for what people and jobs use with the nodes' roles: buckets with data, images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.bucket_names import mistake_in_bucket_name
from slurmpod.rules.listed_once import values_listed_twice
from slurmpod.rules.named_arns import of_another_region
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import LIFECYCLE_SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

DATA_BUCKETS = Area("DBK", "Buckets with data, and images")

S3 = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/"
ECR_PULL = "https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-push-iam.html"

BUCKETS = ("identity", "data_buckets")
IMAGES = ("identity", "image_repositories")


@DATA_BUCKETS.rule(
    "DBK-001",
    "The bucket can exist",
    why="S3 has rules for the names of buckets. Directory buckets and access points need other "
    "permissions than the nodes get.",
    fix="correct the name; it must be a general purpose bucket",
    source=f"{S3}bucketnamingrules.html",
)
def _names(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, data in enumerate(resolved.identity.data_buckets):
        if mistake := mistake_in_bucket_name(data.bucket):
            yield Finding((*BUCKETS, index, "bucket"), mistake)


@DATA_BUCKETS.rule(
    "DBK-002",
    "Every part of a bucket is named once",
    why="Permissions add up: of two entries for the same objects, the one that allows less does "
    "nothing, and looks as if it did.",
    fix="remove one of the two, or correct its bucket or prefix",
    source=f"{S3}using-with-s3-policy-actions.html",
    severity=Severity.WARNING,
)
def _named_once(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    buckets = resolved.identity.data_buckets
    for index, data in enumerate(buckets):
        for other in buckets[:index]:
            if data.bucket == other.bucket and _overlap(data.prefix, other.prefix):
                message = f"s3://{other.bucket}/{other.prefix or ''} is listed already"
                yield Finding((*BUCKETS, index, "bucket"), message)
                break


@DATA_BUCKETS.rule(
    "DBK-003",
    "What a mount allows is not said again",
    why="Nodes may read through the AWS API what they see as a folder.",
    fix="remove the entry, or write 'access: write' if nodes are to delete objects too",
    source="https://docs.aws.amazon.com/AmazonS3/latest/userguide/mountpoint.html",
    severity=Severity.WARNING,
)
def _not_mounted_already(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, data in enumerate(resolved.identity.data_buckets):
        for mount in resolved.s3_mounts:
            is_inside = (data.prefix or "").startswith(mount.prefix or "")
            if data.access == "read" and data.bucket == mount.bucket and is_inside:
                message = f"nodes read it already, for it is mounted at {mount.mount_path}"
                yield Finding((*BUCKETS, index, "bucket"), message)
                break


@DATA_BUCKETS.rule(
    "DBK-004",
    "Nodes do not write to the bucket of their own lifecycle scripts",
    why="What lies there runs as root on every new node: whoever can write to the bucket could "
    "become root everywhere.",
    fix="name another bucket, or write 'access: read'",
    source=LIFECYCLE_SCRIPTS,
)
def _not_our_scripts(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, data in enumerate(resolved.identity.data_buckets):
        if data.bucket == resolved.lifecycle.bucket and data.access == "write":
            message = f"'{data.bucket}' holds the scripts that run as root on new nodes"
            yield Finding((*BUCKETS, index, "bucket"), message)


@DATA_BUCKETS.rule(
    "DBK-005",
    "The key of a bucket lies in the environment's Region",
    why="S3 takes keys of the bucket's own Region only. With this one the bucket lies elsewhere, "
    "and every byte that jobs read is paid for between Regions, and slow.",
    fix="name the bucket's key, or copy the data to a bucket of this Region",
    source=f"{S3}UsingKMSEncryption.html",
    severity=Severity.WARNING,
)
def _keys_lie_here(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for index, data in enumerate(resolved.identity.data_buckets):
        place = (*BUCKETS, index, "kms_key_arn")
        yield from of_another_region(environment, data.kms_key_arn, place)


@DATA_BUCKETS.rule(
    "DBK-006",
    "Repositories are named once",
    why="Listed twice, a repository is allowed no more.",
    fix="remove the entry",
    source=ECR_PULL,
    severity=Severity.WARNING,
)
def _repositories_are_named_once(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    yield from values_listed_twice(resolved.identity.image_repositories, *IMAGES)


def _overlap(one: str | None, other: str | None) -> bool:
    first, second = one or "", other or ""
    return first.startswith(second) or second.startswith(first)
