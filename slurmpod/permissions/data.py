"""Permissions of people and their jobs on nodes: buckets, container images and secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slurmpod.permissions.permission import (
    WHERE_PEOPLE_WORK,
    WORKERS,
    Permission,
    Policy,
    Scope,
    Target,
)
from slurmpod.permissions.scripts import READING_SECRETS, SECRETS, key_of_secret
from slurmpod.value import Value

Targets = Callable[[Scope], Iterator[Target]]

MOUNTPOINT = (
    "https://github.com/awslabs/mountpoint-s3/blob/main/doc/CONFIGURATION.md#iam-permissions"
)
S3_ACTIONS = (
    "https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html"
)
S3_KEYS = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html"
ECR_PULL = "https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-push-iam.html"


class _Bucket(Value):
    """A bucket, or the part of it below `prefix`, that nodes use."""

    number: int
    name: str
    prefix: str
    is_written: bool
    kms_key_arn: str | None


def _mounts(scope: Scope) -> Iterator[_Bucket]:
    for number, mount in enumerate(scope.s3_mounts, start=1):
        prefix = mount.prefix or ""
        yield _Bucket(number, mount.bucket, prefix, not mount.read_only, mount.kms_key_arn)


def _data_buckets(scope: Scope) -> Iterator[_Bucket]:
    for number, data in enumerate(scope.data_buckets, start=1):
        is_written = data.access == "write"
        yield _Bucket(number, data.bucket, data.prefix or "", is_written, data.kms_key_arn)


def _listed(buckets: Callable[[Scope], Iterator[_Bucket]]) -> Targets:
    def targets(scope: Scope) -> Iterator[Target]:
        for bucket in buckets(scope):
            below = {"StringLike": {"s3:prefix": f"{bucket.prefix}*"}} if bucket.prefix else {}
            yield Target((scope.bucket_arn(bucket.name),), below, bucket.number)

    return targets


def _objects(buckets: Callable[[Scope], Iterator[_Bucket]], *, written: bool) -> Targets:
    def targets(scope: Scope) -> Iterator[Target]:
        for bucket in buckets(scope):
            if bucket.is_written is written:
                objects = f"{scope.bucket_arn(bucket.name)}/{bucket.prefix}*"
                yield Target((objects,), number=bucket.number)

    return targets


def _keys(buckets: Callable[[Scope], Iterator[_Bucket]], *, written: bool) -> Targets:
    def targets(scope: Scope) -> Iterator[Target]:
        for bucket in buckets(scope):
            if bucket.kms_key_arn and bucket.is_written is written:
                yield Target((bucket.kms_key_arn,), number=bucket.number)

    return targets


def _image_repositories(scope: Scope) -> Iterator[Target]:
    names = scope.image_repositories
    if names:
        yield Target(tuple(scope.arn("ecr", f"repository/{name}") for name in names))


def _registry(scope: Scope) -> Iterator[Target]:
    if scope.image_repositories:
        yield Target(("*",))


def _job_secrets(scope: Scope) -> Iterator[Target]:
    for number, secret in enumerate(scope.job_secrets, start=1):
        yield Target((secret.arn,), number=number)


def _keys_of_job_secrets(scope: Scope) -> Iterator[Target]:
    for number, secret in enumerate(scope.job_secrets, start=1):
        yield from key_of_secret(secret, scope, number)


_BUCKETS = Policy(
    "Buckets", needed_by="step mount_s3 (Mountpoint for Amazon S3)", source=MOUNTPOINT
)

MOUNTED: tuple[Permission[Scope], ...] = (
    _BUCKETS.allows(
        sid="ListBucket",
        actions=("s3:ListBucket",),
        resource="each bucket of storage.s3_mounts",
        condition="`s3:prefix` is below the prefix of the mount, if it has one",
        why="Folders list their contents.",
        targets=_listed(_mounts),
    ),
    _BUCKETS.allows(
        sid="UseObjects",
        actions=("s3:GetObject",),
        resource="objects below the prefix of each mount with read_only",
        why="Nodes read files.",
        targets=_objects(_mounts, written=False),
    ),
    _BUCKETS.allows(
        sid="UseObjects",
        actions=("s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"),
        resource="objects below the prefix of each mount without read_only",
        why="Nodes read files and write new ones; they delete none.",
        targets=_objects(_mounts, written=True),
    ),
    _BUCKETS.allows(
        sid="UseBucketKey",
        actions=("kms:Decrypt",),
        resource="the key of each mount with read_only, if it is yours",
        needed_by="S3, for step mount_s3",
        why="S3 decrypts objects with the permissions of the reader.",
        source=S3_KEYS,
        targets=_keys(_mounts, written=False),
    ),
    _BUCKETS.allows(
        sid="UseBucketKey",
        actions=("kms:Decrypt", "kms:GenerateDataKey"),
        resource="the key of each mount without read_only, if it is yours",
        needed_by="S3, for step mount_s3",
        why="S3 encrypts and decrypts objects with the permissions of the caller.",
        source=S3_KEYS,
        targets=_keys(_mounts, written=True),
    ),
)

_DATA_BUCKETS = Policy(
    "DataBuckets", needed_by="people and jobs", source=S3_ACTIONS, roles=WHERE_PEOPLE_WORK
)
_IMAGES = Policy(
    "Images",
    needed_by="container runtimes (Docker, Enroot) of people and jobs",
    source=ECR_PULL,
    roles=WHERE_PEOPLE_WORK,
)
_JOB_SECRETS = Policy("JobSecrets", roles=WORKERS)

DATA: tuple[Permission[Scope], ...] = (
    _DATA_BUCKETS.allows(
        sid="ListData",
        actions=("s3:ListBucket",),
        resource="each bucket of identity.data_buckets",
        condition="`s3:prefix` is below the prefix of the entry, if it has one",
        why="Users of the data list it.",
        targets=_listed(_data_buckets),
    ),
    _DATA_BUCKETS.allows(
        sid="UseData",
        actions=("s3:GetObject",),
        resource="objects below the prefix of each entry with access: read",
        why="Jobs read their data.",
        targets=_objects(_data_buckets, written=False),
    ),
    _DATA_BUCKETS.allows(
        sid="UseData",
        actions=(
            "s3:AbortMultipartUpload",
            "s3:DeleteObject",
            "s3:GetObject",
            "s3:ListMultipartUploadParts",
            "s3:PutObject",
        ),
        resource="objects below the prefix of each entry with access: write",
        why="Jobs write results and checkpoints, and delete those that are no longer wanted.",
        targets=_objects(_data_buckets, written=True),
    ),
    _DATA_BUCKETS.allows(
        sid="UseDataKey",
        actions=("kms:Decrypt",),
        resource="the key of each entry with access: read, if it is yours",
        needed_by="S3, for people and jobs",
        why="S3 decrypts objects with the permissions of the reader.",
        source=S3_KEYS,
        targets=_keys(_data_buckets, written=False),
    ),
    _DATA_BUCKETS.allows(
        sid="UseDataKey",
        actions=("kms:Decrypt", "kms:GenerateDataKey"),
        resource="the key of each entry with access: write, if it is yours",
        needed_by="S3, for people and jobs",
        why="S3 encrypts and decrypts objects with the permissions of the caller.",
        source=S3_KEYS,
        targets=_keys(_data_buckets, written=True),
    ),
    _IMAGES.allows(
        sid="PullImages",
        actions=(
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
        ),
        resource="the repositories of identity.image_repositories",
        why="Jobs run in container images.",
        targets=_image_repositories,
    ),
    _IMAGES.allows(
        sid="LogInToRegistry",
        actions=("ecr:GetAuthorizationToken",),
        resource="`*`: IAM supports no narrower resource",
        why="The registry needs a password that is valid for some hours.",
        targets=_registry,
    ),
    _JOB_SECRETS.allows(
        sid="ReadJobSecret",
        actions=("secretsmanager:GetSecretValue",),
        resource="each secret of identity.job_secrets",
        needed_by="jobs that were submitted with --secret",
        why="A job reads its secrets when it starts, so that no file holds them.",
        source=READING_SECRETS,
        targets=_job_secrets,
    ),
    _JOB_SECRETS.allows(
        sid="DecryptJobSecret",
        actions=("kms:Decrypt",),
        resource="the key of each such secret, if it is yours",
        condition="`kms:ViaService` is Secrets Manager",
        needed_by="Secrets Manager, for jobs",
        why="Secrets Manager decrypts a secret with the permissions of the reader.",
        source=SECRETS,
        targets=_keys_of_job_secrets,
    ),
)
