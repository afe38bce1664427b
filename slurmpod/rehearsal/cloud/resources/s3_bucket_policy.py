"""AWS::S3::BucketPolicy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import Provider, ResourceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping


class BucketPolicy(Provider):
    """The policy of a bucket; Ref gives the bucket's name."""

    type = "AWS::S3::BucketPolicy"
    supported = frozenset({"Bucket", "PolicyDocument"})
    in_place = frozenset({"PolicyDocument"})

    def create(self, request: ResourceRequest) -> str:
        """Put the policy."""
        bucket = str(request.properties["Bucket"])
        self._put(request, bucket)
        return bucket

    def update(
        self,
        request: ResourceRequest,
        physical_id: str,
        previous: Mapping[str, Any],  # noqa: ARG002
    ) -> None:
        """Put the policy anew."""
        self._put(request, physical_id)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the policy."""
        request.aws.s3.delete_bucket_policy(Bucket=physical_id)

    def _put(self, request: ResourceRequest, bucket: str) -> None:
        document = json.dumps(request.properties["PolicyDocument"])
        request.aws.s3.put_bucket_policy(Bucket=bucket, Policy=document)
