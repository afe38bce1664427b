"""Facts about EC2 that rules and computations rest on: instance types and Regions.

`data/instance_types.csv` was read from EC2's DescribeInstanceTypes for every `ml.*` type that
CreateCluster accepts; accelerator memory of trn2 is corrected to 96 GiB per chip.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

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
