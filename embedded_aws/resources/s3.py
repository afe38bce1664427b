"""S3: buckets and their policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from embedded_aws.resources.api_resource import ApiResource, DescribeCall, Naming
from embedded_aws.resources.provider import ProviderError, ResourceRequest

_SAME_IN_BOTH = (
    "AbortIncompleteMultipartUpload",
    "NoncurrentVersionExpiration",
    "Status",
)


class Bucket(ApiResource):
    """A bucket with all configurations, which S3 sets by separate calls."""

    type = "AWS::S3::Bucket"
    in_place = frozenset(
        {
            "BucketEncryption",
            "LifecycleConfiguration",
            "LoggingConfiguration",
            "OwnershipControls",
            "PublicAccessBlockConfiguration",
            "Tags",
            "VersioningConfiguration",
        }
    )
    apart = in_place | {"AccessControl"}
    supported = apart | {"BucketName"}
    renamed: ClassVar = {"BucketName": "Bucket"}
    service = "s3"
    creation, deletion = "create_bucket", "delete_bucket"
    identity = "Bucket"
    naming = Naming("BucketName", 63, lower=True)
    described_by = DescribeCall("head_bucket", "Bucket")

    def arguments(self, request: ResourceRequest) -> dict[str, Any]:
        """Return the arguments for a bucket in the Region of the request."""
        region = request.aws.region
        location = {"CreateBucketConfiguration": {"LocationConstraint": region}}
        return {
            **super().arguments(request),
            **({} if region == "us-east-1" else location),
            **_canned_acl(request.properties),
        }

    def create(self, request: ResourceRequest) -> str:
        """Create the bucket; in us-east-1, S3 would accept one that the account already owns."""
        arguments = self.arguments(request)
        name = str(arguments["Bucket"])
        if self.exists(request.aws, name):
            raise ProviderError(f"{name} already exists")
        self.call(request, self.creation, arguments)
        return name

    def complete(self, request: ResourceRequest, physical_id: str) -> None:
        """Apply every configuration in the template."""
        for name, configuration in _CONFIGURATIONS.items():
            if name in request.properties and (name != "Tags" or request.properties["Tags"]):
                given = configuration.write(physical_id, request.properties[name])
                arguments = {"Bucket": physical_id, configuration.argument: given}
                self.call(request, configuration.put, arguments)

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
        """Apply the given configurations and remove all others."""
        for name in sorted(previous.keys() - request.properties.keys()):
            configuration = _CONFIGURATIONS[name]
            if configuration.removal:
                self.call(request, configuration.removal, {"Bucket": physical_id})
            elif configuration.nothing is not None:
                nothing = {configuration.argument: configuration.nothing}
                self.call(request, configuration.put, {"Bucket": physical_id, **nothing})
        super().update(request, physical_id, previous)


class BucketPolicy(ApiResource):
    """The policy of a bucket; Ref gives the bucket's name."""

    type = "AWS::S3::BucketPolicy"
    supported = frozenset({"Bucket", "PolicyDocument"})
    in_place = frozenset({"PolicyDocument"})
    renamed: ClassVar = {"PolicyDocument": "Policy"}
    as_json = frozenset({"PolicyDocument"})
    service = "s3"
    creation = change = "put_bucket_policy"
    deletion = "delete_bucket_policy"
    identity = "Bucket"


@dataclass(frozen=True)
class _Configuration:
    """The call that puts a configuration, and the one that removes it."""

    put: str
    argument: str
    write: Callable[[str, Any], Any] = lambda _bucket, given: given
    """Converts the bucket's name and the property to the argument."""
    removal: str | None = None
    """The call that removes it; without one, `nothing` is put."""
    nothing: Any = None


def _canned_acl(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Convert `LogDeliveryWrite` to `log-delivery-write`."""
    name = properties.get("AccessControl")
    if name is None:
        return {}
    words = "".join(f"-{c.lower()}" if c.isupper() else c for c in name)
    return {"ACL": words.removeprefix("-")}


def encryption_configuration(encryption: Mapping[str, Any]) -> Any:
    """Return the ServerSideEncryptionConfiguration of a BucketEncryption."""
    rules = []
    for given in encryption["ServerSideEncryptionConfiguration"]:
        rule = dict(given)
        default = rule.pop("ServerSideEncryptionByDefault", None)
        if default is not None:
            rule["ApplyServerSideEncryptionByDefault"] = default
        rules.append(rule)
    return {"Rules": rules}


def lifecycle_configuration(lifecycle: Mapping[str, Any]) -> Any:
    """Return the API's lifecycle configuration."""
    return {"Rules": [_lifecycle_rule(rule) for rule in lifecycle["Rules"]]}


def logging_configuration(bucket: str, logging: Mapping[str, Any]) -> Any:
    """Return the API's logging status; without a destination the bucket logs into itself."""
    return {
        "LoggingEnabled": {
            "TargetBucket": logging.get("DestinationBucketName", bucket),
            "TargetPrefix": logging.get("LogFilePrefix", ""),
        }
    }


def _lifecycle_rule(given: Mapping[str, Any]) -> dict[str, Any]:
    remaining = dict(given)
    rule: dict[str, Any] = {k: remaining.pop(k) for k in _SAME_IN_BOTH if k in remaining}
    rule["Filter"] = {"Prefix": remaining.pop("Prefix", "")}
    if "Id" in remaining:
        rule["ID"] = remaining.pop("Id")
    expiration = {
        "Days": remaining.pop("ExpirationInDays", None),
        "ExpiredObjectDeleteMarker": remaining.pop("ExpiredObjectDeleteMarker", None),
    }
    if any(value is not None for value in expiration.values()):
        rule["Expiration"] = {k: v for k, v in expiration.items() if v is not None}
    if "Transitions" in remaining:
        rule["Transitions"] = [
            {"Days": t["TransitionInDays"], "StorageClass": t["StorageClass"]}
            for t in remaining.pop("Transitions")
        ]
    for name in sorted(remaining):
        raise ProviderError(f"{name} of a lifecycle rule is not supported by the embedded AWS")
    return rule


_CONFIGURATIONS: Final = {
    "BucketEncryption": _Configuration(
        "put_bucket_encryption",
        "ServerSideEncryptionConfiguration",
        lambda _bucket, given: encryption_configuration(given),
    ),
    "OwnershipControls": _Configuration(
        "put_bucket_ownership_controls",
        "OwnershipControls",
        removal="delete_bucket_ownership_controls",
    ),
    "PublicAccessBlockConfiguration": _Configuration(
        "put_public_access_block",
        "PublicAccessBlockConfiguration",
        removal="delete_public_access_block",
    ),
    "VersioningConfiguration": _Configuration(
        "put_bucket_versioning", "VersioningConfiguration", nothing={"Status": "Suspended"}
    ),
    "LifecycleConfiguration": _Configuration(
        "put_bucket_lifecycle_configuration",
        "LifecycleConfiguration",
        lambda _bucket, given: lifecycle_configuration(given),
        removal="delete_bucket_lifecycle",
    ),
    "LoggingConfiguration": _Configuration(
        "put_bucket_logging",
        "BucketLoggingStatus",
        logging_configuration,
        nothing={},
    ),
    "Tags": _Configuration(
        "put_bucket_tagging",
        "Tagging",
        lambda _bucket, given: {"TagSet": given},
        removal="delete_bucket_tagging",
    ),
}
"""In the order of the calls."""
