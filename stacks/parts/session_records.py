"""The place for records of sessions: all that is typed and shown in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration, RemovalPolicy, aws_logs, aws_s3
from constructs import Construct

from slurmpod.resolve import SessionNames

if TYPE_CHECKING:
    from aws_cdk import aws_kms

KEPT = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


class SessionRecords(Construct):
    """An encrypted log group or bucket, or neither, as `names` has it. It outlives its stack."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        names: SessionNames,
        key: aws_kms.IKey,
        retention_days: int,
    ) -> None:
        super().__init__(scope, id_)
        if names.log_group:
            self._make_log_group(names.log_group, key, retention_days)
        if names.bucket:
            self._make_bucket(names.bucket, key, retention_days)

    def _make_log_group(self, name: str, key: aws_kms.IKey, retention_days: int) -> None:
        group = aws_logs.CfnLogGroup(
            self,
            "LogGroup",
            log_group_name=name,
            kms_key_id=key.key_arn,
            retention_in_days=retention_days,
        )
        group.apply_removal_policy(KEPT)

    def _make_bucket(self, name: str, key: aws_kms.IKey, retention_days: int) -> None:
        """Make a private bucket that answers TLS requests only.

        Nodes can write records and neither read nor delete them; what is written over another
        stays beside it.
        """
        age = Duration.days(retention_days)
        aws_s3.Bucket(
            self,
            "Bucket",
            bucket_name=name,
            block_public_access=aws_s3.BlockPublicAccess.BLOCK_ALL,
            encryption=aws_s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=True,
            enforce_ssl=True,
            object_ownership=aws_s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=KEPT,
            versioned=True,
            lifecycle_rules=[
                aws_s3.LifecycleRule(
                    id="DeleteOldRecords",
                    enabled=True,
                    expiration=age,
                    noncurrent_version_expiration=age,
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
        )
