"""Rules for the Region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.catalog import HYPERPOD_REGIONS
from slurmpod.model.names import is_zone_id
from slurmpod.model.suggestion import did_you_mean
from slurmpod.model.zones import OFFERINGS_AS_OF, region_of_zone, zone_prefix
from slurmpod.problems import Severity
from slurmpod.rules.network_places import written_zones
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

REGION = Area("REG", "Region")

ZONES = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html"
ZONE_IDS = "https://docs.aws.amazon.com/ram/latest/userguide/working-with-az-ids.html"


@REGION.rule(
    "REG-001",
    "The Region has SageMaker HyperPod",
    why="CreateCluster exists in some Regions only. Elsewhere the network and the file system are "
    "created and paid for before the cluster fails.",
    fix="choose a Region with HyperPod; where AWS has added one since, add it to HYPERPOD_REGIONS",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod.html",
)
def _region_has_hyperpod(environment: Environment, _: Resolved) -> Iterator[Finding]:
    region = environment.region
    if region not in HYPERPOD_REGIONS:
        guess = did_you_mean(region, HYPERPOD_REGIONS)
        fix = " ".join(
            filter(None, (guess, f"HyperPod is in {', '.join(sorted(HYPERPOD_REGIONS))}"))
        )
        yield Finding(("region",), f"there is no SageMaker HyperPod in '{region}'", fix)


@REGION.rule(
    "REG-002",
    "Every zone lies in the Region",
    why="Subnets, nodes and file systems are created in these zones by stacks of this Region.",
    fix="write a zone of the Region",
    source=ZONES,
)
def _zones_lie_in_the_region(environment: Environment, _: Resolved) -> Iterator[Finding]:
    region = environment.region
    for place, zone in written_zones(environment):
        home = region_of_zone(zone)
        if home and home != region:
            whose = f" but in {home}" if is_zone_id(zone) else ""
            example = _same_zone_elsewhere(zone, region)
            fix = f"write a zone of the Region, such as {example}; it must have your capacity"
            yield Finding(place, f"the zone '{zone}' does not lie in {region}{whose}", fix)


def _same_zone_elsewhere(zone: str, region: str) -> str:
    """Return the zone of another Region with the same letter or number."""
    prefix = zone_prefix(region)
    if is_zone_id(zone) and prefix:
        return f"{prefix}{zone[zone.index('-') :]}"
    return f"{region}a" if is_zone_id(zone) else f"{region}{zone[-1]}"


@REGION.rule(
    "REG-003",
    "Every zone id is of a known Region",
    why="A zone id begins with a short form of its Region, usw2 for us-west-2. This one begins "
    "with none that is known here, and is probably mistyped.",
    fix="look it up: aws ec2 describe-availability-zones; accept it for a Region that is newer "
    f"than {OFFERINGS_AS_OF}",
    source=ZONE_IDS,
    severity=Severity.WARNING,
)
def _zone_ids_are_known(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for place, zone in written_zones(environment):
        if region_of_zone(zone) is None:
            prefix = zone_prefix(environment.region)
            fix = f"zone ids of {environment.region} begin with {prefix}-az" if prefix else ""
            yield Finding(place, f"no known Region has a zone '{zone}'", fix)
