"""Bucket configurations: from the words of CloudFormation to those of the S3 API. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.provider import ProviderError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAME_IN_BOTH = (
    "AbortIncompleteMultipartUpload",
    "NoncurrentVersionExpiration",
    "Status",
)


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
        rule["Transitions"] = [_transition(t) for t in remaining.pop("Transitions")]
    for name in sorted(remaining):
        raise ProviderError(f"{name} of a lifecycle rule is not supported by the embedded AWS")
    return rule


def _transition(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"Days": given["TransitionInDays"], "StorageClass": given["StorageClass"]}
