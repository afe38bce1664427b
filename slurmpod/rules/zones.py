"""Rules for Availability Zones: which there are, who is placed where, what is offered there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.model.names import is_zone_id
from slurmpod.model.zones import OFFERINGS_AS_OF, offered_zone_ids
from slurmpod.problems import Severity
from slurmpod.rules.groups import GROUPS, has_efa
from slurmpod.rules.network_places import OTHER_ZONES, written_zones
from slurmpod.rules.rds import ZONES_OF_RDS
from slurmpod.rules.region import ZONE_IDS
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved, ResolvedGroup

ZONES = Area("ZON", "Availability Zones")

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
    source="slurmpod/model/network.py",
)
def _zones_are_named_once(environment: Environment, _: Resolved) -> Iterator[Finding]:
    network = environment.network
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
def _zones_are_in_one_form(environment: Environment, _: Resolved) -> Iterator[Finding]:
    form = is_zone_id(environment.network.zone)
    for place, zone in written_zones(environment):
        if is_zone_id(zone) != form:
            what = "an id" if not form else "a name"
            yield Finding(place, f"'{zone}' is {what}, network.zone is not")


@ZONES.rule(
    "ZON-003",
    "Groups are placed in zones of the network",
    why="Nodes need a subnet in their zone.",
    fix="add the zone to the network, or place the group elsewhere",
    source=OVERRIDE_VPC,
)
def _groups_are_in_the_network(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    known = {environment.network.zone, *resolved.network.zones}
    for index, group in enumerate(resolved.groups):
        if group.zone not in known:
            place = (*GROUPS, index, "zone")
            message = f"the network has no subnet in {group.zone}"
            key = "a subnet of existing" if environment.network.existing else "other_zones"
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
def _efa_partitions_are_in_one_zone(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    first: dict[str, ResolvedGroup] = {}
    for index, group in _workers_with_efa(resolved):
        if group.partition is None:
            continue
        other = first.setdefault(group.partition, group)
        if other.zone != group.zone:
            message = (
                f"partition '{group.partition}' has EFA nodes in {other.zone} ({other.name}) "
                f"and in {group.zone} ({group.name})"
            )
            yield Finding(_zone_place(resolved, index), message)


@ZONES.rule(
    "ZON-005",
    "Workers are in the zone of their file systems",
    why="What workers elsewhere read and write crosses zones: it takes longer, and AWS charges for "
    "it in both directions.",
    fix="place the group in the zone of the file systems; accept it where capacity is elsewhere",
    source=DATA_TRANSFER,
    severity=Severity.WARNING,
)
def _workers_are_near_file_systems(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    zones = {each.zone for each in (*resolved.lustre, resolved.openzfs) if each}
    for index, group in enumerate(resolved.groups):
        if group.role is Role.WORKER and zones and group.zone not in zones:
            message = f"the file systems are in {', '.join(sorted(zones))}, not in {group.zone}"
            yield Finding(_zone_place(resolved, index), message)


@ZONES.rule(
    "ZON-006",
    "Accelerated types are offered in their zone",
    why="Each accelerated type exists in some zones only; elsewhere the cluster fails for lack of "
    f"capacity after everything else was created. The list is from {OFFERINGS_AS_OF}.",
    fix="choose a zone that has the type; accept it where AWS has added the zone since",
    source=OFFERINGS,
    severity=Severity.WARNING,
)
def _types_are_in_their_zone(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for place, name, group in _types(resolved):
        zones = offered_zone_ids().get(name, {}).get(environment.region)
        if zones and is_zone_id(group.zone) and group.zone not in zones:
            message = f"EC2 offers no {name} in {group.zone} (as of {OFFERINGS_AS_OF})"
            yield Finding(place, message, f"EC2 offers it in {', '.join(sorted(zones))}")


@ZONES.rule(
    "ZON-007",
    "Accelerated types are offered in the Region",
    why="Each accelerated type exists in some Regions only; elsewhere the cluster fails after "
    f"everything else was created. The list is from {OFFERINGS_AS_OF}.",
    fix="choose a Region that has the type; accept it where AWS has added the Region since",
    source=OFFERINGS,
    severity=Severity.WARNING,
)
def _types_are_in_the_region(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    for place, name, _group in _types(resolved):
        by_region = offered_zone_ids().get(name)
        if by_region is not None and environment.region not in by_region:
            message = f"EC2 offers no {name} in {environment.region} (as of {OFFERINGS_AS_OF})"
            yield Finding(place, message, f"EC2 offers it in {', '.join(sorted(by_region))}")


@ZONES.rule(
    "ZON-008",
    "Every further zone has a group",
    why="Nodes are in network.zone unless their group says otherwise: a subnet in a zone that no "
    "group names stays empty. A database of RDS uses a second zone, but not a third one.",
    fix="place a group there, or remove the zone",
    source=OVERRIDE_VPC,
    severity=Severity.WARNING,
)
def _zones_are_used(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    used = {environment.network.zone, *(group.zone for group in resolved.groups)}
    idle = [
        (index, other.zone)
        for index, other in enumerate(environment.network.other_zones)
        if other.zone not in used
    ]
    wanted_by_rds = max(ZONES_OF_RDS - len(used), 0) if environment.slurm.rds else 0
    for index, zone in idle[wanted_by_rds:]:
        yield Finding((*OTHER_ZONES, index, "zone"), f"no group is placed in {zone}")


def _workers_with_efa(resolved: Resolved) -> Iterator[tuple[int, ResolvedGroup]]:
    for index, group in enumerate(resolved.groups):
        if group.role is Role.WORKER and has_efa(group.settings):
            yield index, group


def _types(resolved: Resolved) -> Iterator[tuple[YamlPath, str, ResolvedGroup]]:
    """Return every type that a group names, with its place."""
    for index, group in enumerate(resolved.groups):
        for number, name in enumerate(group.instance_types):
            key = ("instance_type",) if group.settings.instance_type else ("instance_types", number)
            yield (*GROUPS, index, *key), name, group


def _zone_place(resolved: Resolved, index: int) -> YamlPath:
    """Return where a group's zone comes from."""
    return (*GROUPS, index, "zone") if resolved.groups[index].settings.zone else (*GROUPS, index)
