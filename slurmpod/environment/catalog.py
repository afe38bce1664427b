"""Facts about EC2 that rules and computations rest on: instance types, Regions and their zones."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic_core import from_json

from slurmpod.environment.names import is_zone_id

HYPERPOD_REGIONS = frozenset(
    {
        "ap-northeast-1",
        "ap-northeast-2",
        "ap-south-1",
        "ap-south-2",
        "ap-southeast-1",
        "ap-southeast-2",
        "ap-southeast-3",
        "ap-southeast-4",
        "eu-central-1",
        "eu-north-1",
        "eu-south-2",
        "eu-west-1",
        "eu-west-2",
        "sa-east-1",
        "us-east-1",
        "us-east-2",
        "us-west-1",
        "us-west-2",
    }
)
"""Regions with SageMaker HyperPod, from its developer guide."""

REGIONS_AS_OF = "September 2026"
"""When `HYPERPOD_REGIONS` was true."""

REGION_NAME = re.compile(
    r"(us|eu|ap|sa|ca|me|af|il|mx|cn|us-gov)-(central|(north|south)?(east|west)|north|south)-[0-9]+"
)
"""Names of Regions in the partitions aws, aws-cn and aws-us-gov, also of such as AWS adds: part of
the world, direction, number (the AWS SDKs' endpoint data, `regionRegex`)."""


@dataclass(frozen=True)
class InstanceType:
    """What one instance type brings. Accelerator fields are empty or zero where there is none."""

    name: str
    architecture: str
    vcpus: int
    cores: int
    default_threads_per_core: int
    valid_threads_per_core: frozenset[int]
    memory_mib: int
    accelerator_kind: str
    accelerator: str
    accelerator_count: int
    efa_interfaces: int
    network_cards: int
    local_nvme_gb: int


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return every instance type that HyperPod accepts, by its `ml.` name."""
    with (Path(__file__).parents[1] / "data" / "instance_types.csv").open(encoding="utf-8") as file:
        types = [_instance_type(row) for row in csv.DictReader(file)]
    return MappingProxyType({instance_type.name: instance_type for instance_type in types})


def _instance_type(row: dict[str, str]) -> InstanceType:
    default_threads = int(row["default_threads_per_core"])
    return InstanceType(
        name=row["instance_type"],
        architecture=row["architecture"],
        vcpus=int(row["vcpus"]),
        cores=int(row["cores"]),
        default_threads_per_core=default_threads,
        valid_threads_per_core=_valid_threads(row["valid_threads_per_core"], default_threads),
        memory_mib=int(row["memory_mib"]),
        accelerator_kind=row["accelerator_kind"],
        accelerator=row["accelerator"],
        accelerator_count=int(row["accelerator_count"] or 0),
        efa_interfaces=int(row["efa_interfaces"] or 0),
        network_cards=int(row["network_cards"]),
        local_nvme_gb=int(row["local_nvme_gb"] or 0),
    )


def _valid_threads(stated: str, default: int) -> frozenset[int]:
    """Read `1/2`; where EC2 states nothing, no number up to the default is ruled out."""
    if not stated:
        return frozenset(range(1, default + 1))
    return frozenset(int(threads) for threads in stated.split("/"))


OFFERINGS_AS_OF = "July 2026"
"""When `data/accelerator_zone_ids.json` was true, which says in which zone ids EC2 offers each
accelerated type (from DescribeInstanceTypeOfferings). It ages: good for warnings only."""


@cache
def offered_zone_ids() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the zone ids in which EC2 offers an accelerated type: by `ml.` name, then Region."""
    file = Path(__file__).parents[1] / "data" / "accelerator_zone_ids.json"
    offerings = from_json(file.read_bytes())
    return MappingProxyType(
        {
            instance_type: {region: frozenset(zones) for region, zones in by_region.items()}
            for instance_type, by_region in offerings.items()
        }
    )


def region_of_zone(zone: str) -> str | None:
    """Return the Region in which a zone lies; None for an id of a Region that the data lacks.

    The name of a zone is its Region's and a letter; what an id begins with stands for its Region.
    """
    if not is_zone_id(zone):
        return zone[:-1]
    return _regions_by_zone_prefix().get(_prefix(zone))


def zone_prefix(region: str) -> str | None:
    """Return what the zone ids of a Region begin with, such as `usw2` for us-west-2."""
    prefixes = _regions_by_zone_prefix().items()
    return next((prefix for prefix, known in prefixes if known == region), None)


@cache
def _regions_by_zone_prefix() -> Mapping[str, str]:
    return {
        _prefix(zone): region
        for by_region in offered_zone_ids().values()
        for region, zones in by_region.items()
        for zone in zones
    }


def _prefix(zone_id: str) -> str:
    return zone_id.rpartition("-az")[0]
