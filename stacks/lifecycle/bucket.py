"""The bucket from which nodes fetch their lifecycle scripts, as root, at every start."""

from __future__ import annotations

from aws_cdk import Duration, Names, RemovalPolicy, Stack, aws_s3
from constructs import Construct

BEGINNING = "sagemaker-"
"""Prefix of buckets that AmazonSageMakerClusterInstanceRolePolicy, AWS's policy, allows."""

LONGEST_NAME_OF_ITS_OWN = 24
"""Characters left of the 63 in a bucket's name after prefix, account and Region."""


class LifecycleBucket(Construct):
    """A private, encrypted, versioned bucket that accepts TLS requests only.

    It is retained by default, because replaced nodes fetch their scripts again. Versions show
    changes of scripts, which run as root on every node. Older copies of job records expire after
    `records_days`.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        bucket_name: str | None = None,
        is_kept: bool = True,
        records_days: int | None = None,
    ) -> None:
        super().__init__(scope, id_)
        kept = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        self.bucket = aws_s3.Bucket(
            self,
            "Bucket",
            bucket_name=bucket_name or self._own_name(),
            block_public_access=aws_s3.BlockPublicAccess.BLOCK_ALL,
            encryption=aws_s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            object_ownership=aws_s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=kept if is_kept else RemovalPolicy.DESTROY,
            versioned=True,
            auto_delete_objects=not is_kept,
            lifecycle_rules=[_old_records(records_days)] if records_days else None,
        )

    def _own_name(self) -> str:
        """Return a name that is unique among such buckets of this account and Region."""
        stack = Stack.of(self)
        own = Names.unique_resource_name(
            self, max_length=LONGEST_NAME_OF_ITS_OWN, separator="-"
        ).lower()
        return f"{BEGINNING}{own}-{stack.account}-{stack.region}"


def _old_records(days: int) -> aws_s3.LifecycleRule:
    return aws_s3.LifecycleRule(
        id="OldRecords", prefix="records/", noncurrent_version_expiration=Duration.days(days)
    )
