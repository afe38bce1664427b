"""What S3's operations need: their actions have other names than they themselves.

Source: S3 user guide, "Required permissions for Amazon S3 API operations".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from slurmpod.rehearsal.cloud.enforcement.need import Need

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slurmpod.rehearsal.cloud.enforcement.calls import Call
    from slurmpod.rehearsal.cloud.enforcement.names import Names

ACTIONS: Mapping[str, str] = {
    "CompleteMultipartUpload": "PutObject",
    "CreateMultipartUpload": "PutObject",
    "DeleteBucketCors": "PutBucketCORS",
    "DeleteBucketEncryption": "PutEncryptionConfiguration",
    "DeleteBucketLifecycle": "PutLifecycleConfiguration",
    "DeleteBucketReplication": "PutReplicationConfiguration",
    "DeleteBucketTagging": "PutBucketTagging",
    "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
    "GetBucketAccelerateConfiguration": "GetAccelerateConfiguration",
    "GetBucketCors": "GetBucketCORS",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "GetBucketNotificationConfiguration": "GetBucketNotification",
    "GetBucketReplication": "GetReplicationConfiguration",
    "GetObjectLockConfiguration": "GetBucketObjectLockConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "HeadBucket": "ListBucket",
    "HeadObject": "GetObject",
    "ListBuckets": "ListAllMyBuckets",
    "ListMultipartUploads": "ListBucketMultipartUploads",
    "ListObjectVersions": "ListBucketVersions",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "ListParts": "ListMultipartUploadParts",
    "PutBucketAccelerateConfiguration": "PutAccelerateConfiguration",
    "PutBucketCors": "PutBucketCORS",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "PutBucketNotificationConfiguration": "PutBucketNotification",
    "PutBucketReplication": "PutReplicationConfiguration",
    "PutObjectLockConfiguration": "PutBucketObjectLockConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "SelectObjectContent": "GetObject",
    "UploadPart": "PutObject",
}
"""By operation; all others have an action of their own name."""

_OF_VERSIONS = frozenset({"DeleteObject", "GetObject"})
_CONTEXT = {
    "s3:delimiter": "Delimiter",
    "s3:max-keys": "MaxKeys",
    "s3:prefix": "Prefix",
    "s3:x-amz-server-side-encryption": "ServerSideEncryption",
    "s3:x-amz-server-side-encryption-aws-kms-key-id": "SSEKMSKeyId",
}


def s3_needs(call: Call, names: Names) -> Iterator[Need]:
    """Yield the actions on buckets and objects that a call of S3 takes."""
    given, context = call.given, _context(call, names)
    bucket = given.get("Bucket")
    if call.operation == "DeleteObjects":
        for entry in given.get("Delete", {}).get("Objects", []):
            yield _object("DeleteObject", bucket, entry, names, context)
        return
    if call.operation in ("CopyObject", "UploadPartCopy"):
        yield _object("GetObject", *_source(given), names, context)
        yield _object("PutObject", bucket, given, names, context)
        return
    action = ACTIONS.get(call.operation, call.operation)
    if given.get("Key"):
        yield _object(action, bucket, given, names, context)
    else:
        resource = f"arn:{names.partition}:s3:::{bucket}" if bucket else "*"
        yield Need(f"s3:{action}", resource, context)


def _object(
    action: str,
    bucket: str | None,
    entry: Mapping[str, Any],
    names: Names,
    context: Mapping[str, str],
) -> Need:
    versioned = entry.get("VersionId") and action in _OF_VERSIONS
    return Need(
        f"s3:{action}{'Version' if versioned else ''}",
        f"arn:{names.partition}:s3:::{bucket}/{entry['Key']}",
        context,
    )


def _source(given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    path, _, version = str(given["CopySource"]).partition("?versionId=")
    bucket, _, key = unquote(path).lstrip("/").partition("/")
    return bucket, {"Key": key, "VersionId": version}


def _context(call: Call, names: Names) -> dict[str, str]:
    given = {key: call.given.get(member) for key, member in _CONTEXT.items()}
    present = {key: str(value) for key, value in given.items() if value is not None}
    return {**present, "s3:ResourceAccount": names.account}
