"""Rules for the buckets and images that jobs use, and for the names of buckets."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address

from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.shared_findings import values_listed_twice
from slurmpod.rules.sources import BUCKET_NAMES, LIFECYCLE_SCRIPTS

DATA_BUCKETS = Area("DBK", "Buckets with data, and images", reads=("identity",))

S3 = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/"
ECR_PULL = "https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-push-iam.html"

BUCKETS = ("identity", "data_buckets")
IMAGES = ("identity", "image_repositories")


@DATA_BUCKETS.rule(
    "DBK-001",
    "The bucket's name is valid",
    why="S3 has rules for the names of buckets. Directory buckets and access points need other "
    "permissions than the nodes get.",
    fix="correct the name; it must be a general purpose bucket",
    source=BUCKET_NAMES,
)
def _names(resolved: Resolved) -> Iterator[Finding]:
    for index, data in enumerate(resolved.identity.data_buckets):
        if mistake := mistake_in_bucket_name(data.bucket):
            yield Finding((*BUCKETS, index, "bucket"), mistake)


@DATA_BUCKETS.rule(
    "DBK-002",
    "Every part of a bucket is named once",
    why="Permissions add up: of two entries for the same objects, the narrower one has no "
    "effect, although it seems to.",
    fix="remove one of the two, or correct its bucket or prefix",
    source=f"{S3}using-with-s3-policy-actions.html",
    severity=Severity.WARNING,
)
def _named_once(resolved: Resolved) -> Iterator[Finding]:
    buckets = resolved.identity.data_buckets
    for index, data in enumerate(buckets):
        for other in buckets[:index]:
            if data.bucket == other.bucket and _overlap(data.prefix, other.prefix):
                message = f"s3://{other.bucket}/{other.prefix or ''} is listed already"
                yield Finding((*BUCKETS, index, "bucket"), message)
                break


@DATA_BUCKETS.rule(
    "DBK-003",
    "Permissions of a mount are not repeated",
    why="Nodes may already read a mounted bucket through the AWS API.",
    fix="remove the entry, or write 'access: write' if nodes are to delete objects too",
    source=f"{S3}mountpoint.html",
    severity=Severity.WARNING,
    reads=("identity", "storage"),
)
def _not_mounted_already(resolved: Resolved) -> Iterator[Finding]:
    for index, data in enumerate(resolved.identity.data_buckets):
        for mount in resolved.s3_mounts:
            is_inside = (data.prefix or "").startswith(mount.prefix or "")
            if data.access == "read" and data.bucket == mount.bucket and is_inside:
                message = f"nodes read it already, for it is mounted at {mount.mount_path}"
                yield Finding((*BUCKETS, index, "bucket"), message)
                break


@DATA_BUCKETS.rule(
    "DBK-004",
    "Nodes do not write to the bucket with their lifecycle scripts",
    why="Its contents run as root on every new node: anyone who can write to the bucket could "
    "become root everywhere.",
    fix="name another bucket, or write 'access: read'",
    source=LIFECYCLE_SCRIPTS,
    reads=("account", "identity", "name", "region"),
)
def _not_our_scripts(resolved: Resolved) -> Iterator[Finding]:
    for index, data in enumerate(resolved.identity.data_buckets):
        if data.bucket == resolved.lifecycle.bucket and data.access == "write":
            message = f"'{data.bucket}' holds the scripts that run as root on new nodes"
            yield Finding((*BUCKETS, index, "bucket"), message)


@DATA_BUCKETS.rule(
    "DBK-006",
    "Repositories are named once",
    why="Listed twice, a repository is allowed no more.",
    fix="remove the entry",
    source=ECR_PULL,
    severity=Severity.WARNING,
)
def _repositories_are_named_once(resolved: Resolved) -> Iterator[Finding]:
    yield from values_listed_twice(resolved.identity.image_repositories, *IMAGES)


def _overlap(one: str | None, other: str | None) -> bool:
    first, second = one or "", other or ""
    return first.startswith(second) or second.startswith(first)


LENGTHS = range(3, 64)

RESERVED_BEGINNINGS = ("xn--", "sthree-", "amzn-s3-demo-")
RESERVED_ENDS = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")
"""Prefixes and suffixes of access points and of other kinds of buckets."""


def mistake_in_bucket_name(name: str) -> str | None:
    """Return what is wrong with the name of a general purpose bucket, or None.

    Source: Amazon S3 user guide, bucket naming rules.
    """
    if len(name) not in LENGTHS or name[-1] in "-.":
        return f"'{name}' is no name of a bucket: 3 to 63 characters, the last a letter or digit"
    if ".." in name:
        return f"'{name}' has two dots beside each other, which no bucket's name has"
    if _is_address(name):
        return f"'{name}' looks like an IP address, which no bucket's name may"
    if name.startswith(RESERVED_BEGINNINGS) or name.endswith(RESERVED_ENDS):
        return f"'{name}' begins or ends as only access points and special buckets do"
    return None


def _is_address(name: str) -> bool:
    try:
        IPv4Address(name)
    except AddressValueError:
        return False
    return True
