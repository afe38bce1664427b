"""Custom::S3AutoDeleteObjects: the CDK's `autoDeleteObjects` of a bucket.

Does what the CDK's function does: empties the bucket, with all versions, before it is deleted, and
only while the bucket's tag still asks for it (aws-cdk-lib 2.275.0, auto-delete-objects-handler).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.aws.errors import suppressed
from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from types_boto3_s3 import S3Client

TAG = {"Key": "aws-cdk:auto-delete-objects", "Value": "true"}


class AutoDeleteObjects(Provider):
    """The end of everything in a bucket."""

    type = "Custom::S3AutoDeleteObjects"
    supported = frozenset({"BucketName", "ServiceToken"})
    in_place = frozenset({"BucketName"})

    def create(self, request: ResourceRequest) -> str:
        """Do nothing yet."""
        return request.generated_name()

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,  # noqa: ARG002
        previous: Mapping[str, Any],
    ) -> None:
        """Empty the bucket that another one replaces."""
        if previous["BucketName"] != request.properties["BucketName"]:
            _empty(request.aws.s3, str(previous["BucketName"]))

    def delete(self, request: ResourceRequest, physical_id: str) -> None:  # noqa: ARG002
        """Empty the bucket."""
        _empty(request.aws.s3, str(request.properties["BucketName"]))


def _empty(s3: S3Client, bucket: str) -> None:
    if not _is_asked_for(s3, bucket):
        return
    for version in _versions(s3, bucket):
        s3.delete_object(Bucket=bucket, Key=version["Key"], VersionId=version["VersionId"])


def _is_asked_for(s3: S3Client, bucket: str) -> bool:
    with suppressed("NoSuchBucket", "NoSuchTagSet"):
        return TAG in s3.get_bucket_tagging(Bucket=bucket)["TagSet"]
    return False


def _versions(s3: S3Client, bucket: str) -> Iterator[Any]:
    """Yield every version of every object, deletion marks among them."""
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        yield from page.get("Versions", [])
        yield from page.get("DeleteMarkers", [])
