"""Rules for the FSx for OpenZFS file system and for mounted buckets."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.facts import fact
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.resolve.storage import openzfs_generation
from slurmpod.rules.data_buckets import mistake_in_bucket_name
from slurmpod.rules.file_systems import API, OPENZFS, new_openzfs
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import BUCKET_NAMES

ZFS = Area("ZFS", "FSx for OpenZFS", reads=("storage",))

CREATE_OPENZFS = f"{API}/API_CreateFileSystemOpenZFSConfiguration.html"
PERFORMANCE = "https://docs.aws.amazon.com/fsx/latest/OpenZFSGuide/performance.html"
REGIONS = "https://docs.aws.amazon.com/fsx/latest/OpenZFSGuide/available-aws-regions.html"

THROUGHPUT = {
    1: (64, 128, 256, 512, 1024, 2048, 3072, 4096),
    2: (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240),
}
"""MB/s by the generation of the deployment type, its last character."""

IOPS_PER_GIB = 3
MOST_IOPS = {1: 160_000, 2: 400_000}
"""Operations per second by generation, as above."""

REGIONS_WITHOUT = {
    kind: fact(f"regions.without_{kind.lower()}")
    for kind in ("SINGLE_AZ_2", "SINGLE_AZ_HA_1", "SINGLE_AZ_HA_2")
}
"""Regions with HyperPod that lack a deployment type."""


@ZFS.rule(
    "ZFS-001",
    "The throughput is one that FSx offers for this deployment type",
    why="Each generation has its own values: 64 to 4096 MB/s for the first, 160 to 10240 for the "
    "second.",
    fix="remove the key: the default is the least",
    source=CREATE_OPENZFS,
)
def _throughput(resolved: Resolved) -> Iterator[Finding]:
    openzfs = new_openzfs(resolved)
    if openzfs is None or openzfs.throughput_mbps is None:
        return
    offered = THROUGHPUT.get(openzfs_generation(openzfs), (openzfs.throughput_mbps,))
    if openzfs.throughput_mbps not in offered:
        message = f"{openzfs.deployment_type} has no throughput of {openzfs.throughput_mbps} MB/s"
        fix = f"write one of {', '.join(map(str, offered))}"
        yield Finding((*OPENZFS, "throughput_mbps"), message, fix)


@ZFS.rule(
    "ZFS-002",
    "Provisioned operations are possible for the capacity",
    why="Every GiB brings 3 operations per second, and FSx refuses to provision fewer; the servers "
    "of the first generation reach 160000 of them, those of the second 400000.",
    fix="remove the key: the default is 3 for each GiB",
    source=PERFORMANCE,
)
def _iops(resolved: Resolved) -> Iterator[Finding]:
    openzfs = new_openzfs(resolved)
    if openzfs is None or openzfs.iops is None:
        return
    least = IOPS_PER_GIB * openzfs.capacity_gib
    most = MOST_IOPS.get(openzfs_generation(openzfs), max(openzfs.iops, least))
    if not least <= openzfs.iops <= most:
        kind = f"{openzfs.deployment_type} with {openzfs.capacity_gib} GiB"
        message = f"{kind} cannot have {openzfs.iops} operations per second"
        fix = f"write {least} to {most}, or remove the key" if least <= most else ""
        yield Finding((*OPENZFS, "iops"), message, fix)


@ZFS.rule(
    "ZFS-003",
    "The Region has the deployment type",
    why="Not every Region has every deployment type of FSx for OpenZFS.",
    fix="choose another deployment_type, or look up whether FSx offers it there by now",
    source=REGIONS,
    severity=Severity.WARNING,
    reads=("region", "storage"),
)
def _region(resolved: Resolved) -> Iterator[Finding]:
    openzfs = new_openzfs(resolved)
    if openzfs is None:
        return
    kind = openzfs.deployment_type
    without = REGIONS_WITHOUT.get(kind)
    if without and resolved.region in without.values:
        message = f"FSx for OpenZFS had no {kind} in {resolved.region} (as of {without.when})"
        yield Finding((*OPENZFS, "deployment_type"), message)


BUCKETS = Area("BKT", "Buckets as folders", reads=("storage",))

MOUNTPOINT = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/mountpoint.html"

S3_MOUNTS = ("storage", "s3_mounts")


@BUCKETS.rule(
    "BKT-001",
    "The bucket's name is valid",
    why="S3 has rules for the names of buckets. Directory buckets and access points need other "
    "permissions than the nodes get.",
    fix="correct the name; it must be a general purpose bucket",
    source=BUCKET_NAMES,
)
def _names(resolved: Resolved) -> Iterator[Finding]:
    for index, mount in enumerate(resolved.s3_mounts):
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
def _dots(resolved: Resolved) -> Iterator[Finding]:
    for index, mount in enumerate(resolved.s3_mounts):
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
def _mounted_once(resolved: Resolved) -> Iterator[Finding]:
    seen: set[tuple[str, str | None]] = set()
    for index, mount in enumerate(resolved.s3_mounts):
        if (mount.bucket, mount.prefix) in seen:
            message = f"s3://{mount.bucket}/{mount.prefix or ''} is mounted already"
            yield Finding((*S3_MOUNTS, index, "bucket"), message)
        seen.add((mount.bucket, mount.prefix))


@BUCKETS.rule(
    "BKT-004",
    "Nodes do not write to the bucket with their lifecycle scripts",
    why="Its contents run as root on every new node: anyone who can write to the mount could "
    "become root everywhere.",
    fix="mount another bucket, or write 'read_only: true'",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html",
    reads=("account", "name", "region", "storage"),
)
def _not_our_scripts(resolved: Resolved) -> Iterator[Finding]:
    for index, mount in enumerate(resolved.s3_mounts):
        if mount.bucket == resolved.lifecycle.bucket and not mount.read_only:
            message = f"'{mount.bucket}' holds the scripts that run as root on new nodes"
            yield Finding((*S3_MOUNTS, index, "bucket"), message)
