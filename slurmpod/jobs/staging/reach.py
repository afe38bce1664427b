"""Whether the role of nodes may read the data to be staged."""

from __future__ import annotations

from slurmpod.jobs.allocation import JobRefused
from slurmpod.resolve import Resolved
from slurmpod.rules.data_buckets import mistake_in_bucket_name

S3 = "s3://"


def folder_in_s3(source: str) -> str:
    """Return a source in S3 as the prefix of a folder. Raises JobRefused."""
    bucket, _, prefix = source.removeprefix(S3).partition("/")
    mistake = mistake_in_bucket_name(bucket) if bucket else f"{source} names no bucket"
    if mistake:
        raise JobRefused(mistake, "write s3://BUCKET/PREFIX/")
    if not prefix.isprintable():
        raise JobRefused(f"{source!r} is no prefix", "write s3://BUCKET/PREFIX/")
    return f"{S3}{bucket}/{prefix.rstrip('/')}/" if prefix.strip("/") else f"{S3}{bucket}/"


def refuse_unreadable(resolved: Resolved, bucket: str, key: str) -> None:
    """Raise JobRefused where nodes may not read this key, or all below it."""
    allowed = [(each.bucket, each.prefix or "") for each in resolved.identity.data_buckets]
    allowed += [(each.bucket, each.prefix or "") for each in resolved.s3_mounts]
    if not any(bucket == name and key.startswith(prefix) for name, prefix in allowed):
        raise JobRefused(
            f"the role of {resolved.name}'s nodes may not read {S3}{bucket}/{key}",
            f"add 'bucket: {bucket}' and its prefix under identity.data_buckets, and deploy:"
            " s3:ListBucket and s3:GetObject",
        )
