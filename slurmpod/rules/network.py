"""Rules for the VPC and its subnets: their addresses cannot change once nodes live in them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from slurmpod.environment.network import LARGEST_VPC_PREFIX
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved, Subnet
from slurmpod.resolve.database import ADDRESSES_IN_EACH_SUBNET
from slurmpod.resolve.network import SECONDARY, SMALLEST_SUBNET_PREFIX, VPC
from slurmpod.resolve.resolved_network import ADDRESSES_KEPT_BY_AWS
from slurmpod.resolve.services import service_addresses
from slurmpod.rules.registry import PRIVATE_SUBNETS, Area, Finding

NETWORK = Area("NET", "Network", reads=PRIVATE_SUBNETS)

VPC_BLOCKS = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
SUBNET_SIZES = "https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"
HYPERPOD_NETWORK = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites.html"
)

RFC_1918 = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
RFC_6598 = IPv4Network("100.64.0.0/10")
PRIVATE_RANGES = (*RFC_1918, RFC_6598)

RANGES_OF_SUBNETS = (
    "write the ranges that the subnets have, as `aws ec2 describe-subnets` shows them"
)
"""What to do about subnets that are there already: AWS made none that overlap."""

DOCKER_RANGE = IPv4Network("172.17.0.0/16")


@NETWORK.rule(
    "NET-001",
    "The VPC has private addresses",
    why="Nodes cannot reach the owners of public addresses that the VPC takes for itself.",
    fix="choose a range inside 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16; a secondary block may "
    "be in 100.64.0.0/10",
    source=VPC_BLOCKS,
    severity=Severity.WARNING,
    reads=("network",),
)
def _vpc_is_private(resolved: Resolved) -> Iterator[Finding]:
    for path, block in _blocks(resolved):
        if not any(block.subnet_of(private) for private in PRIVATE_RANGES):
            yield Finding(path, f"{block} is no private range (RFC 1918)")


@NETWORK.rule(
    "NET-002",
    "The VPC does not use Docker's addresses",
    why="Docker on the nodes uses 172.17.0.0/16 by default: containers would not reach hosts that "
    "have these addresses.",
    fix="choose a range outside 172.17.0.0/16",
    source=VPC_BLOCKS,
    severity=Severity.WARNING,
    reads=("network",),
)
def _vpc_is_not_dockers(resolved: Resolved) -> Iterator[Finding]:
    for path, block in _blocks(resolved):
        if block.overlaps(DOCKER_RANGE):
            yield Finding(path, f"{block} overlaps Docker's own range {DOCKER_RANGE}")


@NETWORK.rule(
    "NET-003",
    "Private subnets are inside the VPC",
    why="A subnet has addresses of its VPC, all of them from one of its blocks.",
    fix="choose a range inside vpc_cidr or a secondary block, or remove the key: the default is "
    "the upper half of the VPC",
    source=SUBNET_SIZES,
)
def _private_subnets_are_inside(resolved: Resolved) -> Iterator[Finding]:
    known = [block for _, block in _blocks(resolved)]
    for subnet, cidr in _private_subnets(resolved):
        if known and not any(cidr.subnet_of(block) for block in known):
            message = f"{cidr} is not inside the VPC, {', '.join(map(str, known))}"
            yield Finding(subnet.path, message)


@NETWORK.rule(
    "NET-004",
    "Private subnets do not overlap the public ones",
    why="The first addresses of the VPC are the public subnets, which hold the NAT gateways; "
    "subnets cannot share addresses.",
    fix="choose a range behind the public subnets, or remove the key",
    source=SUBNET_SIZES,
)
def _private_subnets_are_apart(resolved: Resolved) -> Iterator[Finding]:
    for subnet, cidr in _private_subnets(resolved):
        for public in resolved.network.public:
            if public.cidr and cidr.overlaps(public.cidr):
                yield Finding(subnet.path, f"{cidr} overlaps the public subnet, {public.cidr}")


@NETWORK.rule(
    "NET-005",
    "Private subnets have a size that AWS accepts",
    why="Subnets have a size from /16 to /28.",
    fix="choose a range from /16 to /28, or remove the key",
    source=SUBNET_SIZES,
)
def _private_subnets_have_valid_sizes(resolved: Resolved) -> Iterator[Finding]:
    for subnet, cidr in _private_subnets(resolved):
        if not LARGEST_VPC_PREFIX <= cidr.prefixlen <= SMALLEST_SUBNET_PREFIX:
            yield Finding(subnet.path, f"a subnet cannot be a /{cidr.prefixlen}")


@NETWORK.rule(
    "NET-006",
    "The private subnet has an address for every network interface",
    why="Every node takes one address for each of its network cards (32 for a P5; one with "
    "efa-only), file systems one for each server, interface endpoints, a database of RDS and a "
    "notebook one each; an endpoint that serves a model two for each instance, and as many again "
    "while it is updated. A cluster that runs out of addresses fails to be created, and a subnet "
    "cannot grow.",
    fix="give the nodes a larger subnet",
    source=HYPERPOD_NETWORK,
)
def _private_subnets_are_large_enough(resolved: Resolved) -> Iterator[Finding]:
    for subnet, cidr in _private_subnets(resolved):
        usable = subnet.addresses_usable or 0
        if subnet.addresses_needed > usable:
            where = f" in {subnet.zone}" if len(resolved.network.private) > 1 else ""
            message = (
                f"{subnet.addresses_needed} addresses are needed{where}, {cidr} has {usable}: "
                f"{', '.join(_needs(resolved, subnet.zone))}"
            )
            yield Finding(subnet.path, message, _larger(subnet, cidr, resolved))


def _needs(resolved: Resolved, zone: str) -> Iterator[str]:
    """Return the needed addresses in a zone by consumer."""
    for group in resolved.groups:
        total, each = group.count * group.addresses_per_node, group.addresses_per_node
        if group.zone == zone and total:
            yield f"{group.name} {total}" + (f" ({group.count} x {each})" if each > 1 else "")
    file_systems = sum(
        file_system.addresses
        for file_system in (*resolved.lustre, resolved.openzfs)
        if file_system and file_system.zone == zone
    )
    if file_systems:
        yield f"file systems {file_systems}"
    if endpoints := len(resolved.network.interface_endpoints):
        yield f"interface endpoints {endpoints}"
    if resolved.database and resolved.database.new:
        yield f"database {ADDRESSES_IN_EACH_SUBNET}"
    if served := service_addresses(resolved.endpoint):
        yield f"endpoint {served}"
    if resolved.notebook and resolved.notebook.zone == zone:
        yield "notebook 1"


def _larger(subnet: Subnet, cidr: IPv4Network, resolved: Resolved) -> str:
    """Return a fix: the sufficient size of the range that determines the subnet."""
    prefix = 32 - (subnet.addresses_needed + ADDRESSES_KEPT_BY_AWS - 1).bit_length()
    if prefix < LARGEST_VPC_PREFIX:
        return f"use fewer nodes: no subnet is larger than /{LARGEST_VPC_PREFIX}"
    if not _has_a_share(subnet):
        return f"choose a /{prefix} or larger"
    block = next(block for _, block in _blocks(resolved) if cidr.subnet_of(block))
    block_prefix = prefix - (cidr.prefixlen - block.prefixlen)
    if block_prefix < LARGEST_VPC_PREFIX:
        return f"add a block of /{prefix} or larger to secondary_cidrs: nodes are then placed there"
    if subnet.path == SECONDARY:
        return f"choose secondary blocks of /{block_prefix} or larger"
    return f"choose a vpc_cidr of /{block_prefix} or larger: its upper half is the nodes' subnets"


@NETWORK.rule(
    "NET-007",
    "Private subnets do not overlap each other",
    why="Subnets of one VPC cannot share addresses.",
    fix="choose ranges that do not overlap, or remove the keys of all zones: each gets an equal "
    "share then",
    source=SUBNET_SIZES,
)
def _private_subnets_do_not_overlap(resolved: Resolved) -> Iterator[Finding]:
    for (first, one), (second, other) in combinations(_private_subnets(resolved), 2):
        if one.overlaps(other):
            path = first.path if _has_a_share(second) else second.path
            message = f"{other} ({second.zone}) overlaps {one} ({first.zone})"
            yield Finding(path, message, RANGES_OF_SUBNETS if second.id else "")


def _private_subnets(resolved: Resolved) -> Iterator[tuple[Subnet, IPv4Network]]:
    """Yield the private subnets whose ranges are known."""
    for subnet in resolved.network.private:
        if subnet.cidr:
            yield subnet, subnet.cidr


def _has_a_share(subnet: Subnet) -> bool:
    """Return whether a subnet's range is its default share of a block."""
    return subnet.path in {VPC, SECONDARY}


ADDRESS_BLOCKS = Area("BLK", "Blocks of the VPC", reads=("network",))

RESTRICTIONS = f"{VPC_BLOCKS}#add-cidr-block-restrictions"

NEVER_IN_A_VPC = tuple(
    map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4"))
)
"""This host, loopback, link-local, multicast (VPC user guide, VPC CIDR blocks)."""

SET_APART = IPv4Network("198.19.0.0/16")
NOT_BESIDE = (
    (IPv4Network("10.0.0.0/15"), IPv4Network("10.0.0.0/16")),
    (IPv4Network("172.16.0.0/12"), IPv4Network("172.31.0.0/16")),
)
"""What a VPC has, and what cannot be added then."""


@ADDRESS_BLOCKS.rule(
    "BLK-001",
    "The VPC's blocks are ranges that a VPC can have",
    why="AWS refuses VPCs in 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16 and 224.0.0.0/4.",
    fix="choose a private range, such as 10.0.0.0/16",
    source=VPC_BLOCKS,
)
def _blocks_can_be_in_a_vpc(resolved: Resolved) -> Iterator[Finding]:
    for path, block in _blocks(resolved):
        for range_ in NEVER_IN_A_VPC:
            if block.subnet_of(range_):
                yield Finding(path, f"a VPC cannot have {block}: it is in {range_}")


@ADDRESS_BLOCKS.rule(
    "BLK-002",
    "The VPC's blocks do not overlap each other",
    why="AWS refuses a block that overlaps one which the VPC has already.",
    fix="choose a range that does not overlap",
    source=VPC_BLOCKS,
)
def _blocks_do_not_overlap(resolved: Resolved) -> Iterator[Finding]:
    known = list(_blocks(resolved))
    for number, (path, block) in enumerate(known):
        for _, earlier in known[:number]:
            if block.overlaps(earlier):
                yield Finding(path, f"{block} overlaps the VPC's block {earlier}")


@ADDRESS_BLOCKS.rule(
    "BLK-003",
    "The VPC's blocks can be associated with each other",
    why="The first block, vpc_cidr, decides. Beside a private range (RFC 1918) AWS adds blocks of "
    "the same private range, of 100.64.0.0/10 and public ones, not of another private range; "
    "beside others it adds no private range, and 198.19.0.0/16 nowhere. 10.0.0.0/16 cannot be "
    "added where 10.0.0.0/15 is in use, nor 172.31.0.0/16 beside 172.16.0.0/12.",
    fix="choose a block of the VPC's own private range or of 100.64.0.0/10",
    source=RESTRICTIONS,
)
def _blocks_can_be_associated(resolved: Resolved) -> Iterator[Finding]:
    known = list(_blocks(resolved))
    for number, (path, block) in enumerate(known):
        earlier = [other for _, other in known[:number]]
        if any(block.overlaps(other) for other in earlier):
            continue
        refusing = [other for other in earlier[:1] if not may_be_added(block, other)]
        refusing += [other for other in earlier[1:] if not may_stand_beside(block, other)]
        if refusing:
            yield Finding(path, f"AWS adds no {block} to a VPC that has {refusing[0]}")


def may_be_added(block: IPv4Network, primary: IPv4Network) -> bool:
    """Return whether AWS associates `block` with a VPC that was made with the block `primary`."""
    if block.subnet_of(SET_APART) and not primary.subnet_of(SET_APART):
        return False
    for range_ in RFC_1918:
        if block.subnet_of(range_) and not primary.subnet_of(range_):
            return False
    return may_stand_beside(block, primary)


def may_stand_beside(block: IPv4Network, earlier: IPv4Network) -> bool:
    """Return whether AWS associates `block` with a VPC that has `earlier` among its blocks."""
    return not any(earlier.subnet_of(has) and block.subnet_of(new) for has, new in NOT_BESIDE)


@ADDRESS_BLOCKS.rule(
    "BLK-004",
    "Every secondary block has a subnet",
    why="Blocks beyond the number of zones hold nothing: each zone has one private subnet.",
    fix="remove the block, or place a private_subnet_cidr in it",
    source="slurmpod/resolve/network.py",
    severity=Severity.WARNING,
    reads=PRIVATE_SUBNETS,
)
def _secondary_blocks_are_used(resolved: Resolved) -> Iterator[Finding]:
    subnets = [subnet.cidr for subnet in resolved.network.private if subnet.cidr]
    for index, block in enumerate(resolved.network.secondary_cidrs):
        if not any(cidr.overlaps(block) for cidr in subnets):
            yield Finding((*SECONDARY, index), f"no subnet is in {block}")


def _blocks(resolved: Resolved) -> Iterator[tuple[YamlPath, IPv4Network]]:
    """Yield the blocks of a new VPC in the order in which they are associated."""
    if resolved.network.vpc_cidr:
        yield VPC, resolved.network.vpc_cidr
    for index, cidr in enumerate(resolved.network.secondary_cidrs):
        yield (*SECONDARY, index), cidr
