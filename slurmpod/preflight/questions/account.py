"""Questions about the account, the Region and its zones."""

from __future__ import annotations

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight.facts import Caller, Zone
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import named_types

ML = "ml."


def ask_caller(clients: AwsClients) -> Caller:
    """Return who the credentials belong to."""
    found = clients.sts.get_caller_identity()
    return Caller(found["Account"], found["Arn"])


def _region_status(clients: AwsClients, resolved: Resolved) -> str:
    found = clients.regions.describe_regions(AllRegions=True)["Regions"]
    statuses = {each["RegionName"]: str(each["OptInStatus"]) for each in found}
    return statuses.get(resolved.region, "unknown")


def ask_zones(clients: AwsClients, _: Resolved | None = None) -> tuple[Zone, ...]:
    """Return the zones that the account has, by name."""
    found = clients.ec2.describe_availability_zones()["AvailabilityZones"]
    zones = [Zone(each["ZoneName"], each["ZoneId"], each["State"]) for each in found]
    return tuple(sorted(zones, key=lambda zone: zone.name))


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


QUESTIONS = (
    Question("region_status", "the Region", ("ec2:DescribeRegions",), ("regions",), _region_status),
    Question("zones", "zones", ("ec2:DescribeAvailabilityZones",), ("ec2",), ask_zones),
    Question(
        "offerings",
        "instance types of zones",
        ("ec2:DescribeInstanceTypeOfferings",),
        ("ec2",),
        _offerings,
    ),
)
