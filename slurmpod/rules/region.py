"""Rules for the Region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.catalog import HYPERPOD_REGIONS, REGION_NAME, REGIONS_AS_OF
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

HYPERPOD = "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod.html"
ZONES = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html"
ZONE_IDS = "https://docs.aws.amazon.com/ram/latest/userguide/working-with-az-ids.html"


@REGION.rule(
    "REG-001",
    "The Region is one that AWS could have",
    why="AWS composes names of Regions of a part of the world, a direction and a number. Another "
    "name is mistyped, or belongs to a partition for which slurmpod makes no stacks.",
    fix="write the name of a Region, such as us-west-2",
    source="https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html",
)
def _region_is_possible(environment: Environment, _: Resolved) -> Iterator[Finding]:
    region = environment.region
    if not REGION_NAME.fullmatch(region):
        fix = did_you_mean(region, HYPERPOD_REGIONS)
        yield Finding(("region",), f"there is no Region '{region}'", fix)


@REGION.rule(
    "REG-002",
    "Every zone lies in the Region",
    why="Subnets, nodes and file systems are created in these zones by stacks of this Region.",
    fix="write a zone of the Region",
    source=ZONES,
)
def _zones_lie_in_the_region(environment: Environment, _: Resolved) -> Iterator[Finding]:
    region = environment.region
    if not REGION_NAME.fullmatch(region):  # no zone lies there, and none is at fault
        return
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


@REGION.rule(
    "REG-004",
    "The Region is known to have SageMaker HyperPod",
    why="CreateCluster exists in some Regions only. Elsewhere the network and the file system are "
    "created and paid for before the cluster fails. Where AWS has added a Region since, all works, "
    "but nothing is checked that follows from the services which a Region lacks. The list is from "
    f"{REGIONS_AS_OF}.",
    fix=f"choose one of {', '.join(sorted(HYPERPOD_REGIONS))}; accept the warning where AWS has "
    "added the Region since",
    source=HYPERPOD,
    severity=Severity.WARNING,
)
def _region_has_hyperpod(environment: Environment, _: Resolved) -> Iterator[Finding]:
    region = environment.region
    if region not in HYPERPOD_REGIONS and REGION_NAME.fullmatch(region):
        message = f"there was no SageMaker HyperPod in '{region}' (as of {REGIONS_AS_OF})"
        yield Finding(("region",), message)
