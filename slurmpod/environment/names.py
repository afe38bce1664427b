"""Formats that several sections use: ARNs, ids, zones, tags."""

import re
from typing import Annotated

from pydantic import Field

from slurmpod.environment.regions import domain_of

ZONE_NAME_PATTERN = r"[a-z]{2,4}(-[a-z]+)+-[0-9](-[a-z]{3}-[0-9])?[a-z]"
ZONE_ID_PATTERN = r"[a-z]{3,6}[0-9](-[a-z]{3}[0-9])?-az[0-9]{1,2}"
"""Those of Local Zones name a place in the middle: us-east-1-dfw-2a, use1-dfw2-az1."""

RESOURCE_ID = "([0-9a-f]{8}|[0-9a-f]{17})"
"""The part of EC2 ids after the type: long, or short before 2018."""

Zone = Annotated[
    str, Field(pattern=f"^({ZONE_NAME_PATTERN}|{ZONE_ID_PATTERN})$", examples=["usw2-az2"])
]
"""An Availability Zone: its id (`usw2-az2`, the same place in every account) or its name."""

KmsKeyArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/"
        r"(mrk-[0-9a-f]{32}|[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12})$",
        examples=["arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"],
    ),
]
SecretArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@!-]+$",
        examples=["arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf"],
    ),
]
BucketName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9.-]*[a-z0-9]$",
        min_length=3,
        max_length=63,
        examples=["my-training-data"],
    ),
]
HostName = Annotated[
    str,
    Field(
        pattern=r"^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
        r"(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$",
        max_length=255,
        examples=["slurm.abcdefghijkl.us-west-2.rds.amazonaws.com"],
    ),
]
MountPath = Annotated[
    str, Field(pattern=r"^(/[a-zA-Z0-9][a-zA-Z0-9._-]*)+$", max_length=1024, examples=["/fsx"])
]
"""A folder on every node; letters, digits, dots, hyphens and underscores only."""


def partition_of_arn(arn: str) -> str:
    """Return the partition of a resource, such as `aws` or `aws-cn`."""
    return arn.split(":")[1]


def service_of_arn(arn: str) -> str:
    """Return the service of a resource, such as `kms`."""
    return arn.split(":")[2]


def region_of_arn(arn: str) -> str:
    """Return the Region of a resource; empty where it has none."""
    return arn.split(":")[3]


def account_of_arn(arn: str) -> str:
    """Return the account id of a resource; empty where it has none."""
    return arn.split(":")[4]


def is_local_zone(zone: str) -> bool:
    """Return whether a zone is a Local Zone, by its id or its name."""
    match = re.fullmatch(ZONE_ID_PATTERN, zone) or re.fullmatch(ZONE_NAME_PATTERN, zone)
    return match is not None and match[match.re.groups] is not None


def is_zone_id(zone: str) -> bool:
    """Return whether a zone is written as an id (`usw2-az2`) and not as a name."""
    return re.fullmatch(ZONE_ID_PATTERN, zone) is not None


class InAccount:
    """An account and a Region, for naming resources in them."""

    aws_partition: str
    region: str
    account: str

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource in this account and Region."""
        return f"arn:{self.aws_partition}:{service}:{self.region}:{self.account}:{resource}"

    def bucket_arn(self, bucket: str) -> str:
        """Return the ARN of a bucket, the prefix of its objects' ARNs."""
        return f"arn:{self.aws_partition}:s3:::{bucket}"

    def service(self, name: str) -> str:
        """Return the DNS name of an AWS service in this Region, as policies name it, too.

        Source: AWS General Reference, "AWS service endpoints".
        """
        return f"{name}.{self.region}.{domain_of(self.aws_partition)}"
