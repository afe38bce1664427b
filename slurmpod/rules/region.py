"""Rules for the Region and its Availability Zones, which AWS refuses late."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import (
    OFFERINGS_AS_OF,
    number_of_zone,
    offered_zone_ids,
    region_of_zone,
    zone_prefix,
)
from slurmpod.environment.cluster import Role
from slurmpod.environment.names import is_local_zone, is_zone_id
from slurmpod.environment.regions import (
    AWS_REGIONS,
    HYPERPOD_REGIONS,
    MOST_ZONES,
    NEXT_ZONES,
    REGIONS_AS_OF,
    USUAL_ZONES,
    ZONES_OF_REGIONS,
    could_be_region,
)
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.resolve.network import SUBNETS
from slurmpod.rules.groups import has_efa
from slurmpod.rules.rds import ZONES_OF_RDS
from slurmpod.rules.registry import PRIVATE_SUBNETS, Area, Finding

OTHER_ZONES = ("network", "other_zones")

REGION = Area("REG", "Region", reads=("cluster", "network", "region"))

HYPERPOD = "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod.html"
ZONES_GUIDE = (
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html"
)
ALL_ZONES = (
    "https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-availability-zones.html"
)
ZONE_IDS = "https://docs.aws.amazon.com/ram/latest/userguide/working-with-az-ids.html"


@REGION.rule(
    "REG-001",
    "The Region is one that AWS could have",
    why="AWS composes names of Regions of a part of the world, a direction and a number, and "
    "counts them one by one. Another name is mistyped.",
    fix="write the name of a Region, such as us-west-2",
    source="https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html",
    reads=("region",),
)
def _region_is_possible(resolved: Resolved) -> Iterator[Finding]:
    region = resolved.region
    if not could_be_region(region):
        fix = did_you_mean(region, HYPERPOD_REGIONS)
        yield Finding(("region",), f"there is no Region '{region}'", fix)


@REGION.rule(
    "REG-002",
    "Every zone is in the Region",
    why="Subnets, nodes and file systems are created in these zones by stacks of this Region.",
    fix="write a zone of the Region",
    source=ZONES_GUIDE,
)
def _zones_lie_in_the_region(resolved: Resolved) -> Iterator[Finding]:
    region = resolved.region
    if not could_be_region(region):  # the Region is wrong, not the zones
        return
    for place, zone in _written_zones(resolved):
        home = region_of_zone(zone)
        if home and home != region:
            whose = f" but in {home}" if is_zone_id(zone) else ""
            example = _same_zone_elsewhere(zone, region)
            fix = f"write a zone of the Region, such as {example}; it must have your capacity"
            yield Finding(place, f"the zone '{zone}' is not in {region}{whose}", fix)


def _written_zones(resolved: Resolved) -> Iterator[tuple[YamlPath, str]]:
    """Yield every zone that the file names, with its place."""
    network = resolved.environment.network
    yield ("network", "zone"), network.zone
    for index, other in enumerate(network.other_zones):
        yield (*OTHER_ZONES, index, "zone"), other.zone
    for index, subnet in enumerate(network.existing.subnets if network.existing else ()):
        yield (*SUBNETS, index, "zone"), subnet.zone
    for group in resolved.groups:
        if group.settings.zone:
            yield (*group.path, "zone"), group.settings.zone


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
def _zone_ids_are_known(resolved: Resolved) -> Iterator[Finding]:
    for place, zone in _written_zones(resolved):
        if region_of_zone(zone) is None:
            prefix = zone_prefix(resolved.region)
            fix = f"zone ids of {resolved.region} begin with {prefix}-az" if prefix else ""
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
    reads=("region",),
)
def _region_has_hyperpod(resolved: Resolved) -> Iterator[Finding]:
    region = resolved.region
    if region not in HYPERPOD_REGIONS and could_be_region(region):
        message = f"no SageMaker HyperPod was known in '{region}' (as of {REGIONS_AS_OF})"
        yield Finding(("region",), message)


@REGION.rule(
    "REG-005",
    "Every zone is one that AWS could have",
    why=f"AWS numbers the zones of a Region. No Region had more than {MOST_ZONES} of them (as of "
    f"{REGIONS_AS_OF}).",
    fix="look your zones up: aws ec2 describe-availability-zones",
    source=ALL_ZONES,
)
def _zones_are_possible(resolved: Resolved) -> Iterator[Finding]:
    for place, zone in _zones_of_the_region(resolved):
        if not 1 <= number_of_zone(zone) <= MOST_ZONES + NEXT_ZONES:
            yield Finding(place, f"there is no zone '{zone}'", _last_known(resolved.region, zone))


@REGION.rule(
    "REG-006",
    "Every zone is known",
    why="AWS seldom adds a zone to a Region: a number above those that are known is probably "
    f"mistyped, and the subnet is refused. The list is from {REGIONS_AS_OF}.",
    fix="look your zones up: aws ec2 describe-availability-zones; accept it for a new zone",
    source=ALL_ZONES,
    severity=Severity.WARNING,
)
def _zones_are_known(resolved: Resolved) -> Iterator[Finding]:
    if resolved.region not in AWS_REGIONS:
        return
    for place, zone in _zones_of_the_region(resolved):
        if _known_zones(resolved.region) < number_of_zone(zone) <= MOST_ZONES + NEXT_ZONES:
            message = f"{resolved.region} had no zone '{zone}' (as of {REGIONS_AS_OF})"
            yield Finding(place, message, _last_known(resolved.region, zone))


def _zones_of_the_region(resolved: Resolved) -> Iterator[tuple[YamlPath, str]]:
    """Yield the zones of the Region by name; REG-002 reports the others."""
    for place, zone in _written_zones(resolved):
        if region_of_zone(zone) == resolved.region:
            yield place, zone


def _known_zones(region: str) -> int:
    return ZONES_OF_REGIONS.get(region, USUAL_ZONES)


def _last_known(region: str, zone: str) -> str:
    """Say which zones a Region has, in the form in which one is written."""
    if region not in AWS_REGIONS:
        return ""
    last = _known_zones(region)
    if is_zone_id(zone):
        prefix = f"{zone.rpartition('-az')[0]}-az"
        return f"zones of {region} are {prefix}1 to {prefix}{last}"
    return f"zones of {region} are {region}a to {region}{'abcdef'[last - 1]}"


ZONES = Area("ZON", "Availability Zones", reads=("cluster", "network"))

EFA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html"
DATA_TRANSFER = "https://aws.amazon.com/ec2/pricing/on-demand/"
OVERRIDE_VPC = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
    "API_ClusterInstanceGroupSpecification.html"
)
OFFERINGS = "slurmpod/data/accelerator_zone_ids.json"


@ZONES.rule(
    "ZON-001",
    "Each zone is named once",
    why="There is one private subnet per zone; network.zone has one already.",
    fix="remove the entry, or write another zone",
    source="slurmpod/environment/network.py",
    reads=("network",),
)
def _zones_are_named_once(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    zones = [network.zone, *(other.zone for other in network.other_zones)]
    for index, zone in enumerate(zones[1:]):
        if zone in zones[: index + 1]:
            yield Finding((*OTHER_ZONES, index, "zone"), f"{zone} has a subnet already")


@ZONES.rule(
    "ZON-002",
    "All zones are written in one form",
    why="Which id and which name mean the same place differs between accounts and cannot be known "
    "here: usw2-az2 and us-west-2b may be one zone with two subnets.",
    fix="write all of them as ids, which mean the same place in every account",
    source=ZONE_IDS,
    severity=Severity.WARNING,
)
def _zones_are_in_one_form(resolved: Resolved) -> Iterator[Finding]:
    form = is_zone_id(resolved.network.zone)
    for place, zone in _written_zones(resolved):
        if is_zone_id(zone) != form:
            what = "an id" if not form else "a name"
            yield Finding(place, f"'{zone}' is {what}, network.zone is not")


@ZONES.rule(
    "ZON-003",
    "Groups are placed in zones of the network",
    why="Nodes need a subnet in their zone.",
    fix="add the zone to the network, or place the group elsewhere",
    source=OVERRIDE_VPC,
    reads=PRIVATE_SUBNETS,
)
def _groups_are_in_the_network(resolved: Resolved) -> Iterator[Finding]:
    known = {resolved.network.zone, *resolved.network.zones}
    for group in resolved.groups:
        if group.zone not in known:
            place = (*group.path, "zone")
            message = f"the network has no subnet in {group.zone}"
            key = "a subnet of existing" if resolved.network.existing else "other_zones"
            fix = f"add it to {key}, or choose one of {', '.join(sorted(known))}"
            yield Finding(place, message, fix)


@ZONES.rule(
    "ZON-004",
    "Nodes with EFA in one partition are in one zone",
    why="EFA traffic cannot cross zones: a job on nodes of both would fall back to slow networking "
    "or fail.",
    fix="give the groups different partitions, or place them in one zone",
    source=EFA,
    severity=Severity.WARNING,
)
def _efa_partitions_are_in_one_zone(resolved: Resolved) -> Iterator[Finding]:
    first: dict[str, ResolvedGroup] = {}
    for group in _workers_with_efa(resolved):
        if group.partition is None:
            continue
        other = first.setdefault(group.partition, group)
        if other.zone != group.zone:
            message = (
                f"partition '{group.partition}' has EFA nodes in {other.zone} ({other.name}) "
                f"and in {group.zone} ({group.name})"
            )
            yield Finding(_zone_path(group), message)


@ZONES.rule(
    "ZON-005",
    "Workers are in the zone of their file systems",
    why="What workers elsewhere read and write crosses zones: it takes longer, and AWS charges for "
    "it in both directions.",
    fix="place the group in the zone of the file systems; suppress it if capacity is elsewhere",
    source=DATA_TRANSFER,
    severity=Severity.WARNING,
    reads=("cluster", "network", "storage"),
)
def _workers_are_near_file_systems(resolved: Resolved) -> Iterator[Finding]:
    zones = {each.zone for each in (*resolved.lustre, resolved.openzfs) if each}
    for group in resolved.groups:
        if group.role is Role.WORKER and zones and group.zone not in zones:
            message = f"the file systems are in {', '.join(sorted(zones))}, not in {group.zone}"
            yield Finding(_zone_path(group), message)


@ZONES.rule(
    "ZON-006",
    "Accelerated types are offered in their zone",
    why="Each accelerated type exists in some zones only; elsewhere the cluster fails for lack of "
    f"capacity after everything else was created. The list is from {OFFERINGS_AS_OF}.",
    fix="choose a zone that has the type; suppress it if AWS has added the zone since",
    source=OFFERINGS,
    severity=Severity.WARNING,
    reads=("cluster", "network", "region"),
)
def _types_are_in_their_zone(resolved: Resolved) -> Iterator[Finding]:
    for place, name, group in _types(resolved):
        zones = offered_zone_ids().get(name, {}).get(resolved.region)
        if zones and is_zone_id(group.zone) and group.zone not in zones:
            message = f"EC2 offers no {name} in {group.zone} (as of {OFFERINGS_AS_OF})"
            yield Finding(place, message, f"EC2 offers it in {', '.join(sorted(zones))}")


@ZONES.rule(
    "ZON-007",
    "Accelerated types are offered in the Region",
    why="Each accelerated type exists in some Regions only; elsewhere the cluster fails after "
    f"everything else was created. The list is from {OFFERINGS_AS_OF}.",
    fix="choose a Region that has the type; suppress it if AWS has added the Region since",
    source=OFFERINGS,
    severity=Severity.WARNING,
    reads=("cluster", "region"),
)
def _types_are_in_the_region(resolved: Resolved) -> Iterator[Finding]:
    for place, name, _group in _types(resolved):
        by_region = offered_zone_ids().get(name)
        if by_region is not None and resolved.region not in by_region:
            message = f"EC2 offers no {name} in {resolved.region} (as of {OFFERINGS_AS_OF})"
            yield Finding(place, message, f"EC2 offers it in {', '.join(sorted(by_region))}")


@ZONES.rule(
    "ZON-008",
    "Every further zone has a group",
    why="Nodes are in network.zone unless their group says otherwise: a subnet in a zone that no "
    "group names stays empty. A database of RDS and an endpoint use a second zone, but not a third "
    "one.",
    fix="place a group there, or remove the zone",
    source=OVERRIDE_VPC,
    severity=Severity.WARNING,
    reads=("cluster", "network", "services", "slurm"),
)
def _zones_are_used(resolved: Resolved) -> Iterator[Finding]:
    used = {resolved.network.zone, *(group.zone for group in resolved.groups)}
    idle = [
        (index, other.zone)
        for index, other in enumerate(resolved.environment.network.other_zones)
        if other.zone not in used
    ]
    wants_two = resolved.slurm.rds or resolved.endpoint
    wanted = max(ZONES_OF_RDS - len(used), 0) if wants_two else 0
    for index, zone in idle[wanted:]:
        yield Finding((*OTHER_ZONES, index, "zone"), f"no group is placed in {zone}")


@ZONES.rule(
    "ZON-009",
    "No zone is a Local Zone",
    why="Local Zones have some of a Region's services only, and each has others: in some there is "
    "no NAT gateway, no endpoint and no FSx, and the stack fails. Nothing here knows what each "
    "has. AWS offers UltraServers there: p6e-gb200 in us-east-1-dfw-2a.",
    fix="look up what the zone has; keep file systems and egress in another zone of the Region, "
    "and accept the warning",
    source="https://aws.amazon.com/about-aws/global-infrastructure/localzones/features/",
    severity=Severity.WARNING,
)
def _zones_have_all_services(resolved: Resolved) -> Iterator[Finding]:
    for place, zone in _written_zones(resolved):
        if is_local_zone(zone):
            yield Finding(place, f"{zone} is a Local Zone, whose services are not known here")


def _workers_with_efa(resolved: Resolved) -> Iterator[ResolvedGroup]:
    for group in resolved.groups:
        if group.role is Role.WORKER and has_efa(group):
            yield group


def _types(resolved: Resolved) -> Iterator[tuple[YamlPath, str, ResolvedGroup]]:
    """Return every type that a group names, with its place."""
    for group in resolved.groups:
        for number, name in enumerate(group.instance_types):
            key = ("instance_type",) if group.settings.instance_type else ("instance_types", number)
            yield (*group.path, *key), name, group


def _zone_path(group: ResolvedGroup) -> YamlPath:
    """Return the place of a group's zone, or of the group where it names none."""
    return (*group.path, "zone") if group.settings.zone else group.path
