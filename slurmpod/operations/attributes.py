"""Attributes of resources that follow from their ids. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slurmpod.operations.literal import Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.aws.holdings import StackedResource, StackRecord

SAME_AS_REF = frozenset({"GroupId", "Id", "KeyId", "SubnetId", "VpcId"})
"""These attributes are what Ref gives as well."""

ARNS: Final[Mapping[str, str]] = {
    "AWS::IAM::Role": "arn:{partition}:iam::{account}:role/{id}",
    "AWS::KMS::Key": "arn:{partition}:kms:{region}:{account}:key/{id}",
    "AWS::Logs::LogGroup": "arn:{partition}:logs:{region}:{account}:log-group:{id}:*",
    "AWS::S3::Bucket": "arn:{partition}:s3:::{id}",
}
"""ARNs by type (Service Authorization Reference)."""


def attribute_of(resource: StackedResource, attribute: str, stack: StackRecord) -> str:
    """Return an attribute of a resource of `stack`; raises Unknown if it does not follow."""
    if attribute in SAME_AS_REF:
        return resource.physical_id
    if attribute.endswith("Arn") and resource.physical_id.startswith("arn:"):
        return resource.physical_id
    if attribute == "Arn" and resource.type in ARNS:
        _, partition, _, region, account, *_ = stack.arn.split(":")
        return ARNS[resource.type].format(
            partition=partition, region=region, account=account, id=resource.physical_id
        )
    raise Unknown(f"{resource.logical_id}.{attribute}")
