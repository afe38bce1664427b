"""Where an environment file says what about zones and addresses, for rules that point there."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from slurmpod.environment.environment import Environment
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved, Subnet
from slurmpod.rules.groups import GROUPS

ZONE = ("network", "zone")
VPC = ("network", "vpc_cidr")
SECONDARY = ("network", "secondary_cidrs")
PRIVATE_SUBNET = ("network", "private_subnet_cidr")
OTHER_ZONES = ("network", "other_zones")
EXISTING = ("network", "existing")


def written_zones(environment: Environment) -> Iterator[tuple[YamlPath, str]]:
    """Return every zone that the file names, with its place."""
    network = environment.network
    yield ZONE, network.zone
    for index, other in enumerate(network.other_zones):
        yield (*OTHER_ZONES, index, "zone"), other.zone
    for index, subnet in enumerate(network.existing.subnets if network.existing else ()):
        yield (*EXISTING, "subnets", index, "zone"), subnet.zone
    for index, group in enumerate(environment.cluster.groups):
        if group.zone:
            yield (*GROUPS, index, "zone"), group.zone


def blocks(resolved: Resolved) -> Iterator[tuple[YamlPath, IPv4Network]]:
    """Return the blocks of a new VPC in the order in which they are associated."""
    if resolved.network.vpc_cidr:
        yield VPC, resolved.network.vpc_cidr
    for index, cidr in enumerate(resolved.network.secondary_cidrs):
        yield (*SECONDARY, index), cidr


def private_subnets(
    environment: Environment, resolved: Resolved
) -> Iterator[tuple[YamlPath, Subnet, IPv4Network]]:
    """Return the private subnets whose ranges are known, and where each is to be changed."""
    for subnet in resolved.network.private:
        if subnet.cidr:
            yield _place_of(environment, subnet), subnet, subnet.cidr


def _place_of(environment: Environment, subnet: Subnet) -> YamlPath:
    network = environment.network
    for index, mine in enumerate(network.existing.subnets if network.existing else ()):
        if (mine.id, mine.zone) == (subnet.id, subnet.zone):
            return (*EXISTING, "subnets", index, "cidr")
    if subnet.zone == network.zone and network.private_subnet_cidr:
        return PRIVATE_SUBNET
    for index, other in enumerate(network.other_zones):
        if other.zone == subnet.zone and other.private_subnet_cidr:
            return (*OTHER_ZONES, index, "private_subnet_cidr")
    return SECONDARY if network.secondary_cidrs else VPC
