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
"""The partition by prefix of the Region's name; all others are in `aws` (the AWS SDKs' endpoint
data, `regionRegex`).
"""

DOMAINS = {
    "aws-cn": "amazonaws.com.cn",
    "aws-eusc": "amazonaws.eu",
    "aws-iso": "c2s.ic.gov",
    "aws-iso-b": "sc2s.sgov.gov",
    "aws-iso-e": "cloud.adc-e.uk",
    "aws-iso-f": "csp.hci.ic.gov",
}
"""The domain of a partition's services if it is not `USUAL_DOMAIN` (the same data)."""

USUAL_DOMAIN = "amazonaws.com"

PARTS_OF_THE_WORLD = ("af", "ap", "ca", "eu", "il", "me", "mx", "sa", "us", *PARTITIONS)
"""Known prefixes of Region names."""

REGION_NAME = re.compile(
    r"(?P<part>[a-z]{2}|[a-z]{2}-(gov|iso[a-z]?)|eusc-[a-z]{2})"
    r"-(central|(north|south)?(east|west)|north|south)-(?P<number>[0-9]+)"
)
"""The form of Region names, including future ones: part of the world, direction, number."""

AWS_REGIONS = frozenset(fact("regions.aws").values)
"""Every Region of all partitions."""

NEXT_REGIONS = 2
"""Allowance for Regions that AWS opened in one place after the date of `AWS_REGIONS`."""

MOST_ZONES = 6
"""Number of zones of us-east-1, which has the most (AWS Regions and Availability Zones)."""

NEXT_ZONES = 2
"""Allowance for zones that AWS adds to a Region that already has the most."""

USUAL_ZONES = 3

ZONES_OF_REGIONS = {
    "ap-northeast-1": 4,
    "ap-northeast-2": 4,
    "ca-central-1": 4,
    "us-east-1": MOST_ZONES,
    "us-west-2": 4,
}
"""The highest number of a zone id, and of a zone's letter, in Regions where it is not 3."""


def could_be_region(name: str) -> bool:
    """Return whether AWS has, or may have by now, a Region of this name.

    AWS numbers the Regions of a place consecutively and adds new parts of the world: a name in a
    new part passes, unless it is one letter away from an existing Region. That is more often a typo
    than a new Region, and stacks in a wrong Region are worse than checking the list.
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
    """Return the AWS partition of a Region, as in ARNs."""
    match = REGION_NAME.fullmatch(region)
    return PARTITIONS.get(match["part"], "aws") if match else "aws"


def domain_of(partition: str) -> str:
    """Return the DNS suffix of a partition's services."""
    return DOMAINS.get(partition, USUAL_DOMAIN)


def _by_one_letter(one: str, other: str) -> bool:
    """Return whether the names differ in one letter."""
    return len(one) == len(other) and sum(map(ne, one, other)) == 1
