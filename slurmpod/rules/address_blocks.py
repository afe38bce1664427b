"""Rules for the blocks of a new VPC: AWS lets some ranges not be associated with each other."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.network import RFC_1918, VPC_BLOCKS
from slurmpod.rules.network_places import SECONDARY, blocks
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

ADDRESS_BLOCKS = Area("BLK", "Blocks of the VPC")

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
def _blocks_can_be_in_a_vpc(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    for place, block in blocks(resolved):
        for range_ in NEVER_IN_A_VPC:
            if block.subnet_of(range_):
                yield Finding(place, f"a VPC cannot have {block}: it lies in {range_}")


@ADDRESS_BLOCKS.rule(
    "BLK-002",
    "The VPC's blocks leave each other alone",
    why="AWS refuses a block that overlaps one which the VPC has already.",
    fix="choose a range of its own",
    source=VPC_BLOCKS,
)
def _blocks_do_not_overlap(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    known = list(blocks(resolved))
    for number, (place, block) in enumerate(known):
        for _place, earlier in known[:number]:
            if block.overlaps(earlier):
                yield Finding(place, f"{block} overlaps the VPC's block {earlier}")


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
def _blocks_can_be_associated(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    known = list(blocks(resolved))
    for number, (place, block) in enumerate(known):
        earlier = [other for _place, other in known[:number]]
        if any(block.overlaps(other) for other in earlier):
            continue
        refusing = [other for other in earlier[:1] if not may_be_added(block, other)]
        refusing += [other for other in earlier[1:] if not may_stand_beside(block, other)]
        if refusing:
            yield Finding(place, f"AWS adds no {block} to a VPC that has {refusing[0]}")


def may_be_added(block: IPv4Network, primary: IPv4Network) -> bool:
    """Tell whether AWS associates `block` with a VPC that was made with the block `primary`."""
    if block.subnet_of(SET_APART) and not primary.subnet_of(SET_APART):
        return False
    for range_ in RFC_1918:
        if block.subnet_of(range_) and not primary.subnet_of(range_):
            return False
    return may_stand_beside(block, primary)


def may_stand_beside(block: IPv4Network, earlier: IPv4Network) -> bool:
    """Tell whether AWS associates `block` with a VPC that has `earlier` among its blocks."""
    return not any(earlier.subnet_of(has) and block.subnet_of(new) for has, new in NOT_BESIDE)


@ADDRESS_BLOCKS.rule(
    "BLK-004",
    "Every secondary block has a subnet",
    why="Blocks beyond the number of zones hold nothing: each zone has one private subnet.",
    fix="remove the block, or place a private_subnet_cidr in it",
    source="slurmpod/resolve/network.py",
    severity=Severity.WARNING,
)
def _secondary_blocks_are_used(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    subnets = [subnet.cidr for subnet in resolved.network.private if subnet.cidr]
    for index, block in enumerate(resolved.network.secondary_cidrs):
        if not any(cidr.overlaps(block) for cidr in subnets):
            yield Finding((*SECONDARY, index), f"no subnet lies in {block}")
