"""Rules for the VPC and its subnets: their addresses cannot change once nodes live in them."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from slurmpod.model.network import LARGEST_VPC_PREFIX
from slurmpod.problems import Severity
from slurmpod.resolve import ADDRESSES_KEPT_BY_AWS, SMALLEST_SUBNET_PREFIX
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

NETWORK = Area("NET", "Network")

VPC_BLOCKS = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
SUBNET_SIZES = "https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"
HYPERPOD_NETWORK = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites.html"
)

PRIVATE_RANGES = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""RFC 1918."""

DOCKER_RANGE = IPv4Network("172.17.0.0/16")

VPC = ("network", "vpc_cidr")
PRIVATE_SUBNET = ("network", "private_subnet_cidr")


@NETWORK.rule(
    "NET-001",
    "The VPC has private addresses",
    why="Nodes cannot reach the owners of public addresses that the VPC takes for itself.",
    fix="choose a range inside 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
    source=VPC_BLOCKS,
    severity=Severity.WARNING,
)
def _vpc_is_private(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    vpc = resolved.network.vpc_cidr
    if not any(vpc.subnet_of(private) for private in PRIVATE_RANGES):
        yield Finding(VPC, f"{vpc} is no private range (RFC 1918)")


@NETWORK.rule(
    "NET-002",
    "The VPC leaves Docker's addresses alone",
    why="Docker on the nodes uses 172.17.0.0/16 by default: containers would not reach hosts that "
    "have these addresses.",
    fix="choose a range outside 172.17.0.0/16",
    source=VPC_BLOCKS,
    severity=Severity.WARNING,
)
def _vpc_is_not_dockers(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    vpc = resolved.network.vpc_cidr
    if vpc.overlaps(DOCKER_RANGE):
        yield Finding(VPC, f"{vpc} overlaps Docker's own range {DOCKER_RANGE}")


@NETWORK.rule(
    "NET-003",
    "The private subnet lies inside the VPC",
    why="A subnet has addresses of its VPC.",
    fix="choose a range inside vpc_cidr, or remove the key: the default is the VPC's upper half",
    source=SUBNET_SIZES,
)
def _private_subnet_is_inside(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    network = resolved.network
    if not network.private.cidr.subnet_of(network.vpc_cidr):
        message = f"{network.private.cidr} does not lie inside the VPC, {network.vpc_cidr}"
        yield Finding(PRIVATE_SUBNET, message)


@NETWORK.rule(
    "NET-004",
    "The private subnet leaves the public one alone",
    why="The first addresses of the VPC are the public subnet, where the NAT gateway stands; "
    "subnets cannot share addresses.",
    fix="choose a range behind the public subnet, or remove the key",
    source=SUBNET_SIZES,
)
def _private_subnet_is_apart(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    network = resolved.network
    if network.private.cidr.overlaps(network.public.cidr):
        message = f"{network.private.cidr} overlaps the public subnet, {network.public.cidr}"
        yield Finding(PRIVATE_SUBNET, message)


@NETWORK.rule(
    "NET-005",
    "The private subnet has a size that AWS accepts",
    why="Subnets have a size from /16 to /28.",
    fix="choose a range from /16 to /28, or remove the key: the default is the VPC's upper half",
    source=SUBNET_SIZES,
)
def _private_subnet_has_a_valid_size(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    prefix = resolved.network.private.cidr.prefixlen
    if not LARGEST_VPC_PREFIX <= prefix <= SMALLEST_SUBNET_PREFIX:
        yield Finding(PRIVATE_SUBNET, f"a subnet cannot be a /{prefix}")


@NETWORK.rule(
    "NET-006",
    "The private subnet has an address for every network interface",
    why="Every node takes one address for each of its network cards (32 for a P5), the file system "
    "one for each server. A cluster that runs out of addresses fails to be created, and a subnet "
    "cannot grow.",
    fix="give the nodes a larger subnet",
    source=HYPERPOD_NETWORK,
)
def _private_subnet_is_large_enough(
    environment: Environment, resolved: Resolved
) -> Iterator[Finding]:
    private = resolved.network.private
    if private.addresses_needed <= private.addresses_usable:
        return
    needs = [
        f"{group.name} {group.count * group.addresses_per_node}"
        + (f" ({group.count} x {group.addresses_per_node})" if group.addresses_per_node > 1 else "")
        for group in resolved.groups
    ]
    message = (
        f"{private.addresses_needed} addresses are needed, {private.cidr} has "
        f"{max(private.addresses_usable, 0)}: {', '.join(needs)}, "
        f"file system {resolved.file_system.servers}"
    )
    prefix = 32 - (private.addresses_needed + ADDRESSES_KEPT_BY_AWS - 1).bit_length()
    if prefix <= LARGEST_VPC_PREFIX:
        yield Finding(VPC, message, f"use fewer nodes: no VPC is larger than /{LARGEST_VPC_PREFIX}")
    elif environment.network.private_subnet_cidr:
        yield Finding(PRIVATE_SUBNET, message, f"choose a /{prefix} or larger")
    else:
        fix = f"choose a vpc_cidr of /{prefix - 1} or larger: its upper half is the nodes' subnet"
        yield Finding(VPC, message, fix)
