"""The network: subnets and their ranges, egress, and the number of addresses in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from ipaddress import IPv4Network

from slurmpod.environment.network import ExistingNetwork, Network
from slurmpod.problems import YamlPath
from slurmpod.resolve.resolved import ResolvedGroup
from slurmpod.resolve.resolved_network import ResolvedNetwork, Subnet

DEFAULT_VPC_CIDR = IPv4Network("10.0.0.0/16")
PUBLIC_PREFIX = 24
SMALLEST_SUBNET_PREFIX = 28

VPC = ("network", "vpc_cidr")
SECONDARY = ("network", "secondary_cidrs")
"""Paths of the settings that determine subnets without an explicit range."""

SUBNETS = ("network", "existing", "subnets")
"""The path of existing subnets."""

SERVICES_OF_A_CLOSED_NETWORK = (
    "ec2",
    "ec2messages",
    "ecr.api",
    "ecr.dkr",
    "fsx",
    "kms",
    "logs",
    "monitoring",
    "sagemaker.api",
    "secretsmanager",
    "ssm",
    "ssmmessages",
    "sts",
)
"""Services that nodes call during setup, monitoring and use, except S3, which has a gateway."""

SERVICE_OF_METRICS = "aps-workspaces"
"""Service that receives metrics, if enabled."""

SERVICE_OF_MODELS = "sagemaker.runtime"
"""Service with which programs call the environment's endpoint, if any."""


def resolve_network(
    network: Network,
    groups: Sequence[ResolvedGroup],
    *,
    addresses_beside_nodes: int,
    database_addresses: int,
    service_addresses: int,
    sends_metrics: bool,
    serves_models: bool,
) -> ResolvedNetwork:
    """Give every zone a private subnet; file systems and a notebook use the first.

    A database and the instances of an endpoint may use any.
    """
    zones = _zones(network)
    services = _interface_endpoints(
        network, sends_metrics=sends_metrics, serves_models=serves_models
    )
    needed = Counter({network.zone: addresses_beside_nodes})
    for group in groups:
        needed[group.zone] += group.count * group.addresses_per_node
    for zone in zones:
        needed[zone] += len(services) + database_addresses + service_addresses
    nat_gateways = _nat_gateways(network, zones)
    vpc_cidr = network.vpc_cidr or DEFAULT_VPC_CIDR
    return ResolvedNetwork(
        zone=network.zone,
        existing=network.existing,
        vpc_cidr=None if network.existing else vpc_cidr,
        secondary_cidrs=() if network.existing else network.secondary_cidrs,
        public=_public(vpc_cidr, zones) if nat_gateways else (),
        private=_existing(network.existing, network.zone, needed)
        if network.existing
        else _private(network, vpc_cidr, zones, needed),
        nat_gateways=nat_gateways,
        closed=network.closed,
        interface_endpoints=services,
        s3_buckets=network.s3_buckets,
        flow_logs=network.flow_logs,
    )


def _zones(network: Network) -> list[str]:
    """Return the zones of the environment, that of nodes and file systems first, each once."""
    if network.existing:
        others = [subnet.zone for subnet in network.existing.subnets]
    else:
        others = [other.zone for other in network.other_zones]
    return list(dict.fromkeys((network.zone, *others)))


def _interface_endpoints(
    network: Network, *, sends_metrics: bool, serves_models: bool
) -> tuple[str, ...]:
    services = set(network.interface_endpoints)
    has_endpoints = network.existing and network.existing.has_endpoints
    if network.closed and not has_endpoints:
        services.update(services_of_a_closed_network(serves_models=serves_models))
        services.update([SERVICE_OF_METRICS] * sends_metrics)
    return tuple(sorted(services))


def services_of_a_closed_network(*, serves_models: bool) -> tuple[str, ...]:
    """Return the services called in a closed network, including the endpoint's if there is one."""
    return (*SERVICES_OF_A_CLOSED_NETWORK, *([SERVICE_OF_MODELS] if serves_models else []))


def _nat_gateways(network: Network, zones: Sequence[str]) -> int:
    if network.existing or network.closed or network.nat == "none":
        return 0
    return len(zones) if network.nat == "per_zone" else 1


def _public(vpc_cidr: IPv4Network, zones: Sequence[str]) -> tuple[Subnet, ...]:
    """Cut a small subnet for each zone from the lower half of the VPC.

    All zones have one, so that changing the number of NAT gateways moves no addresses.
    """
    lower_half = next(vpc_cidr.subnets(prefixlen_diff=1))
    prefix = max(PUBLIC_PREFIX, lower_half.prefixlen + _bits(len(zones)))
    ranges = lower_half.subnets(new_prefix=prefix)
    return tuple(Subnet(zone, VPC, cidr, 1) for zone, cidr in zip(zones, ranges, strict=False))


def _private(
    network: Network, vpc_cidr: IPv4Network, zones: Sequence[str], needed: Counter[str]
) -> tuple[Subnet, ...]:
    chosen = _chosen(network)
    _, upper_half = vpc_cidr.subnets(prefixlen_diff=1)
    shares = _shares(network.secondary_cidrs or (upper_half,), zones)
    shared = SECONDARY if network.secondary_cidrs else VPC
    decided = {zone: chosen.get(zone) or (shared, shares[zone]) for zone in zones}
    return tuple(Subnet(zone, *decided[zone], needed[zone]) for zone in zones)


def _chosen(network: Network) -> dict[str, tuple[YamlPath, IPv4Network]]:
    """Return the ranges that the environment names, each with its path, by zone."""
    chosen: dict[str, tuple[YamlPath, IPv4Network]] = {}
    for index, other in enumerate(network.other_zones):
        if other.private_subnet_cidr:
            place = ("network", "other_zones", index, "private_subnet_cidr")
            chosen[other.zone] = place, other.private_subnet_cidr
    if network.private_subnet_cidr:
        chosen[network.zone] = ("network", "private_subnet_cidr"), network.private_subnet_cidr
    return chosen


def _shares(blocks: Sequence[IPv4Network], zones: Sequence[str]) -> dict[str, IPv4Network]:
    """Assign the zones to the blocks in turn, and divide each block equally among its zones.

    Subnets cannot grow later and addresses are free, so each takes its full share.
    """
    shares: dict[str, IPv4Network] = {}
    for number, block in enumerate(blocks):
        mine = zones[number :: len(blocks)]
        parts = block.subnets(prefixlen_diff=_bits(len(mine)) if mine else 0)
        shares.update(zip(mine, parts, strict=False))
    return shares


def _existing(existing: ExistingNetwork, zone: str, needed: Counter[str]) -> tuple[Subnet, ...]:
    """Return the user's subnets, that of the environment's zone first."""
    subnets = [
        Subnet(subnet.zone, (*SUBNETS, index, "cidr"), subnet.cidr, needed[subnet.zone], subnet.id)
        for index, subnet in enumerate(existing.subnets)
    ]
    return tuple(sorted(subnets, key=lambda subnet: subnet.zone != zone))


def _bits(count: int) -> int:
    """Return the number of bits needed to number `count` items."""
    return (count - 1).bit_length()
