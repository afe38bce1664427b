"""Facts about Availability Zones: the Region of a zone, and where accelerated types are offered.

`data/accelerator_zone_ids.json` says in which zone ids EC2 offers each accelerated type (from
DescribeInstanceTypeOfferings), as of July 2026. It ages: good for warnings, never for errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic_core import from_json

from slurmpod.environment.names import is_zone_id

OFFERINGS_AS_OF = "July 2026"
"""When `data/accelerator_zone_ids.json` was true."""


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
