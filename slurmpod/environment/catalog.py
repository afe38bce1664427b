"""Facts about EC2 for rules and computations: instance types, and where they are offered."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic_core import from_json

from slurmpod.environment.facts import fact
from slurmpod.environment.names import is_zone_id
from slurmpod.value import Value


class InstanceType(Value):
    """Properties of an instance type. Accelerator fields are empty or zero without accelerators.

    `accelerator_memory_mib` is the memory of one of them. `network_gigabits` is the sustained
    bandwidth; 0 if EC2 guarantees only a peak.
    """

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
    accelerator_memory_mib: int
    efa_interfaces: int
    network_cards: int
    network_gigabits: int
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
        accelerator_memory_mib=int(row["accelerator_memory_mib_each"] or 0),
        efa_interfaces=int(row["efa_interfaces"] or 0),
        network_cards=int(row["network_cards"]),
        network_gigabits=_gigabits(row["network_performance"]),
        local_nvme_gb=int(row["local_nvme_gb"] or 0),
    )


SPEED = re.compile(r"(?:([0-9]+)x )?([0-9]+) Gigabit")
"""EC2's notation for sustained bandwidth; otherwise it says `Up to`, or gives no number."""


def _gigabits(performance: str) -> int:
    match = SPEED.fullmatch(performance)
    return int(match[1] or 1) * int(match[2]) if match else 0


INSTANCE_TYPES_AS_OF = fact("instance_types.hyperpod").when
"""When `data/instance_types.csv` had every type that CreateCluster takes."""

ULTRASERVERS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {"ml.p6e-gb200.36xlarge": MappingProxyType({"ml.u-p6e-gb200x36": 9, "ml.u-p6e-gb200x72": 18})}
)
"""By type, the UltraServers that its instances are parts of, and how many share one NVLink domain.

EC2 sells them by UltraServer, neither on demand nor as spot.

The catalog's facts about them are from the EC2 user guide, "EFA configuration for P6e-GB200
instances", and from EC2's page on P6. HyperPod does not say which interfaces it makes on their 17
network cards: an address is counted for each card, which is enough for any choice, and 4 EFA
interfaces are expected, the fewer of EC2's two ways to the full speed of 1600 Gbit/s.
"""

ULTRASERVER_TYPES = frozenset(ULTRASERVERS)
"""Types whose instances are parts of an UltraServer."""

PASSED_OVER = frozenset(fact("instance_types.families_passed_over").values)
"""Families with accelerators that EC2 had before there was HyperPod, which has never offered them.
"""

TYPES_OF_PLANS = frozenset(fact("instance_types.plans").values)
"""Types that a training plan can reserve."""


def family_of(instance_type: str) -> str:
    """Return the family of a type: `p5` of `ml.p5.48xlarge`."""
    return instance_type.split(".")[1]


def _valid_threads(stated: str, default: int) -> frozenset[int]:
    """Parse `1/2`; if EC2 lists no values, any number up to the default is allowed."""
    if not stated:
        return frozenset(range(1, default + 1))
    return frozenset(int(threads) for threads in stated.split("/"))


OFFERINGS_AS_OF = fact("instance_types.zone_ids").when
"""When `data/accelerator_zone_ids.json` was true, which says in which zone ids EC2 offers each
accelerated type (from DescribeInstanceTypeOfferings). It becomes outdated: use it for warnings
only.
"""


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


LOCAL_PLACE = re.compile(r"-[a-z]{3}-[0-9]$")
"""What a Local Zone has between the Region and the letter: -dfw-2 of us-east-1-dfw-2a."""


def region_of_zone(zone: str) -> str | None:
    """Return the Region of a zone; None for an id of a Region missing from the data.

    A zone's name is its Region's name and a letter; its id begins with a short form of the Region.
    """
    if not is_zone_id(zone):
        return LOCAL_PLACE.sub("", zone[:-1])
    return _regions_by_zone_prefix().get(_prefix(zone))


def number_of_zone(zone: str) -> int:
    """Return the number of a zone in its Region: 2 for `usw2-az2` and for `us-west-2b`."""
    if is_zone_id(zone):
        return int(zone.rpartition("-az")[2])
    return ord(zone[-1]) - ord("a") + 1


def zone_prefix(region: str) -> str | None:
    """Return the prefix of a Region's zone ids, such as `usw2` for us-west-2."""
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
    return zone_id.partition("-")[0]
