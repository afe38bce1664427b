"""Zones of the Region, and the instance types that EC2 offers there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import named_types
from slurmpod.rules.registry import Finding

ZONE_IDS = "https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html"
TYPE_OFFERINGS = (
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html"
)
ML = "ml."


@dataclass(frozen=True)
class Zone:
    """An Availability Zone of the Region; its name depends on the account, its id does not."""

    name: str
    id: str
    state: str


def ask_zones(clients: AwsClients, _: Resolved | None = None) -> tuple[Zone, ...]:
    """Return the account's zones by name."""
    found = clients.ec2.describe_availability_zones()["AvailabilityZones"]
    zones = [Zone(each["ZoneName"], each["ZoneId"], each["State"]) for each in found]
    return tuple(sorted(zones, key=lambda zone: zone.name))


ZONES = Question("zones", "zones", ("ec2:DescribeAvailabilityZones",), ("ec2",), ask_zones)


def zone_id(facts: Facts, zone: str) -> str:
    """Return the id of a zone given by name or id; unchanged if it is unknown."""
    return next((each.id for each in facts[ZONES] or () if zone in (each.name, each.id)), zone)


def _offerings(clients: AwsClients, resolved: Resolved) -> dict[str, tuple[str, ...]]:
    """Return by type the ids of the zones in which EC2 offers it."""
    types = sorted({name for group in resolved.groups for name, _ in named_types(group)})
    return zones_with(clients, types)


def zones_with(clients: AwsClients, types: list[str]) -> dict[str, tuple[str, ...]]:
    """Return by type, with its `ml.`, the ids of the zones in which EC2 offers it."""
    found: dict[str, list[str]] = {name: [] for name in types}
    pages = clients.ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone-id",
        Filters=[{"Name": "instance-type", "Values": [name.removeprefix(ML) for name in types]}],
    )
    for page in pages:
        for each in page["InstanceTypeOfferings"]:
            found[ML + each["InstanceType"]].append(each["Location"])
    return {name: tuple(sorted(zones)) for name, zones in found.items()}


OFFERINGS = Question(
    "offerings",
    "instance types of zones",
    ("ec2:DescribeInstanceTypeOfferings",),
    ("ec2",),
    _offerings,
)


@PREFLIGHT.rule(
    "PRE-201",
    "The account has the zones",
    why="The zones of a Region and their names differ between accounts.",
    fix="write one of the account's zones",
    source=ZONE_IDS,
)
def _zones_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    zones = facts[ZONES]
    if zones is None:
        return
    names = {each.name for each in zones} | {each.id for each in zones}
    known = ", ".join(f"{each.name} ({each.id})" for each in zones)
    for zone, path in _zones(resolved):
        if zone not in names:
            yield Finding(path, f"the account has no zone {zone}", f"write one of {known}")
    for each in zones:
        for zone, path in _zones(resolved):
            if zone in (each.name, each.id) and each.state != "available":
                yield Finding(path, f"the zone {zone} is {each.state}")


def _zones(resolved: Resolved) -> Iterator[tuple[str, YamlPath]]:
    network = resolved.environment.network
    yield network.zone, ("network", "zone")
    for index, other in enumerate(network.other_zones):
        yield other.zone, ("network", "other_zones", index, "zone")
    for group in resolved.groups:
        if group.settings.zone:
            yield group.zone, (*group.path, "zone")


@PREFLIGHT.rule(
    "PRE-202",
    "EC2 offers the types in their zones",
    why="EC2's current list for this account. HyperPod cannot start a type where EC2 does not "
    "offer it.",
    fix="place the group in a zone that offers the type; suppress it if AWS has promised the "
    "capacity",
    source=TYPE_OFFERINGS,
    severity=Severity.WARNING,
)
def _types_are_offered(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for group in resolved.groups if facts[ZONES] else ():
        zone = zone_id(facts, group.zone)
        for name, path in named_types(group):
            offered = (facts[OFFERINGS] or {}).get(name)
            if offered is not None and zone not in offered:
                where = f"it is offered in {', '.join(offered)}" if offered else ""
                message = f"EC2 offers no {name} in {group.zone} ({zone})"
                yield Finding(path, message, where)


QUESTIONS = (ZONES, OFFERINGS)
