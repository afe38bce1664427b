"""Facts about Regions, their partitions and their zones."""

from __future__ import annotations

import re
from operator import ne

from slurmpod.environment.facts import fact

HYPERPOD_REGIONS = frozenset(fact("regions.hyperpod").values)
"""Regions with SageMaker HyperPod."""

REGIONS_AS_OF = fact("regions.hyperpod").when
"""When `HYPERPOD_REGIONS` was true."""

PARTITIONS = {
    "us-gov": "aws-us-gov",
    "cn": "aws-cn",
    "eusc-de": "aws-eusc",
    "us-iso": "aws-iso",
    "us-isob": "aws-iso-b",
    "eu-isoe": "aws-iso-e",
    "us-isof": "aws-iso-f",
}
"""The partition of Regions whose names begin so; all others are in `aws` (the AWS SDKs' endpoint
data, `regionRegex`)."""

DOMAINS = {
    "aws-cn": "amazonaws.com.cn",
    "aws-eusc": "amazonaws.eu",
    "aws-iso": "c2s.ic.gov",
    "aws-iso-b": "sc2s.sgov.gov",
    "aws-iso-e": "cloud.adc-e.uk",
    "aws-iso-f": "csp.hci.ic.gov",
}
"""The domain of a partition's services where it is not `USUAL_DOMAIN` (the same data)."""

USUAL_DOMAIN = "amazonaws.com"

PARTS_OF_THE_WORLD = ("af", "ap", "ca", "eu", "il", "me", "mx", "sa", "us", *PARTITIONS)
"""What names of Regions begin with by now."""

REGION_NAME = re.compile(
    r"(?P<part>[a-z]{2}|[a-z]{2}-(gov|iso[a-z]?)|eusc-[a-z]{2})"
    r"-(central|(north|south)?(east|west)|north|south)-(?P<number>[0-9]+)"
)
"""Names of Regions, also of such as AWS adds: part of the world, direction, number."""

AWS_REGIONS = frozenset(fact("regions.aws").values)
"""Every Region of all partitions."""

NEXT_REGIONS = 2
"""How many Regions AWS may have opened in one place since `AWS_REGIONS` was true."""

MOST_ZONES = 6
"""Zones of the Region that has most of them, us-east-1 (AWS Regions and Availability Zones)."""

NEXT_ZONES = 2
"""How many zones AWS may have added to a Region that has most of them."""

USUAL_ZONES = 3

ZONES_OF_REGIONS = {
    "ap-northeast-1": 4,
    "ap-northeast-2": 4,
    "ca-central-1": 4,
    "us-east-1": MOST_ZONES,
    "us-west-2": 4,
}
"""The highest number of a zone id, and place of a zone's letter, in Regions where it is not 3."""


def could_be_region(name: str) -> bool:
    """Return whether AWS has a Region of this name, or may have by now.

    AWS counts the Regions of a place one by one, and goes to new parts of the world: a name of such
    a part passes, unless one letter makes it the name of a Region that is there. That is more
    often mistyped than new, and stacks in a Region by mistake are worse than one look at the list.
    """
    match = REGION_NAME.fullmatch(name)
    if match is None:
        return False
    if match["part"] not in PARTS_OF_THE_WORLD and any(
        _by_one_letter(name, r) for r in AWS_REGIONS
    ):
        return False
    place, number = name.rpartition("-")[0], match["number"]
    opened = [int(each.rpartition("-")[2]) for each in AWS_REGIONS if each.startswith(f"{place}-")]
    most = max(opened, default=0) + NEXT_REGIONS
    return 1 <= int(number) <= most


def partition_of(region: str) -> str:
    """Return the AWS partition of a Region, which ARNs begin with."""
    match = REGION_NAME.fullmatch(region)
    return PARTITIONS.get(match["part"], "aws") if match else "aws"


def domain_of(partition: str) -> str:
    """Return what the DNS names of a partition's services end with."""
    return DOMAINS.get(partition, USUAL_DOMAIN)


def _by_one_letter(one: str, other: str) -> bool:
    """Return whether one letter was taken for another."""
    return len(one) == len(other) and sum(map(ne, one, other)) == 1
