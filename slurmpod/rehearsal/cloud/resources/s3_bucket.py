"""AWS::S3::Bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.existence import is_there
from slurmpod.rehearsal.cloud.resources.provider import Provider, ProviderError, ResourceRequest
from slurmpod.rehearsal.cloud.resources.s3_configuration import (
    encryption_configuration,
    lifecycle_configuration,
    logging_configuration,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from types_boto3_s3 import S3Client

_NAME_LENGTH = 63


class Bucket(Provider):
    """A bucket with everything that S3 configures by calls of its own."""

    type = "AWS::S3::Bucket"
    supported = frozenset(
        {
            "AccessControl",
            "BucketEncryption",
            "BucketName",
            "LifecycleConfiguration",
            "LoggingConfiguration",
            "OwnershipControls",
            "PublicAccessBlockConfiguration",
            "Tags",
            "VersioningConfiguration",
        }
    )
    in_place = supported - {"AccessControl", "BucketName"}

    def create(self, request: ResourceRequest) -> str:
        """Create the bucket."""
        name = request.properties.get("BucketName")
        name = name or request.generated_name(_NAME_LENGTH).lower()
        if is_there(request.aws, self.type, name):  # in us-east-1, S3 makes one's own again
            raise ProviderError(f"{name} already exists")
        region = request.aws.region
        location: Any = {"LocationConstraint": region}
        request.aws.s3.create_bucket(
            Bucket=name,
            **({} if region == "us-east-1" else {"CreateBucketConfiguration": location}),
            **_canned_acl(request.properties),
        )
        return str(name)

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Apply every configuration that the template gives."""
        _configure(request.aws.s3, physical_id, request.properties)

    def attributes(self, request: ResourceRequest, physical_id: str) -> Mapping[str, Any]:
        """Return ARN and host names."""
        suffix, region = request.aws.dns_suffix, request.aws.region
        return {
            "Arn": f"arn:{request.aws.partition}:s3:::{physical_id}",
            "DomainName": f"{physical_id}.s3.{suffix}",
            "DualStackDomainName": f"{physical_id}.s3.dualstack.{region}.{suffix}",
            "RegionalDomainName": f"{physical_id}.s3.{region}.{suffix}",
        }

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Apply the given configurations and remove those that are no longer given."""
        s3 = request.aws.s3
        gone = previous.keys() - request.properties.keys()
        if "LifecycleConfiguration" in gone:
            s3.delete_bucket_lifecycle(Bucket=physical_id)
        if "LoggingConfiguration" in gone:
            s3.put_bucket_logging(Bucket=physical_id, BucketLoggingStatus={})
        if "OwnershipControls" in gone:
            s3.delete_bucket_ownership_controls(Bucket=physical_id)
        if "PublicAccessBlockConfiguration" in gone:
            s3.delete_public_access_block(Bucket=physical_id)
        if "Tags" in gone:
            s3.delete_bucket_tagging(Bucket=physical_id)
        if "VersioningConfiguration" in gone:
            s3.put_bucket_versioning(
                Bucket=physical_id, VersioningConfiguration={"Status": "Suspended"}
            )
        _configure(s3, physical_id, request.properties)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Delete the bucket; S3 refuses while there is an object in it."""
        request.aws.s3.delete_bucket(Bucket=physical_id)


def _configure(s3: S3Client, bucket: str, properties: Mapping[str, Any]) -> None:
    if "BucketEncryption" in properties:
        s3.put_bucket_encryption(
            Bucket=bucket,
            ServerSideEncryptionConfiguration=encryption_configuration(
                properties["BucketEncryption"]
            ),
        )
    if "OwnershipControls" in properties:
        s3.put_bucket_ownership_controls(
            Bucket=bucket, OwnershipControls=properties["OwnershipControls"]
        )
    if "PublicAccessBlockConfiguration" in properties:
        s3.put_public_access_block(
            Bucket=bucket,
            PublicAccessBlockConfiguration=properties["PublicAccessBlockConfiguration"],
        )
    if "VersioningConfiguration" in properties:
        s3.put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration=properties["VersioningConfiguration"]
        )
    if "LifecycleConfiguration" in properties:
        s3.put_bucket_lifecycle_configuration(
            Bucket=bucket,
            LifecycleConfiguration=lifecycle_configuration(properties["LifecycleConfiguration"]),
        )
    if "LoggingConfiguration" in properties:
        s3.put_bucket_logging(
            Bucket=bucket,
            BucketLoggingStatus=logging_configuration(bucket, properties["LoggingConfiguration"]),
        )
    if properties.get("Tags"):
        s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": properties["Tags"]})


def _canned_acl(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Turn `LogDeliveryWrite` into `log-delivery-write`."""
    name = properties.get("AccessControl")
    if name is None:
        return {}
    words = "".join(f"-{c.lower()}" if c.isupper() else c for c in name)
    return {"ACL": words.removeprefix("-")}
