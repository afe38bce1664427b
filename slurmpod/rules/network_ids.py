"""Lustre's network ids of clients: which addresses they name, and whether these are all of some.

Each part of an address can be a range: 10.0.[128-255].[0-255]@tcp are the clients in 10.0.128.0/17.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from ipaddress import IPv4Address, IPv4Network

NETWORK = "@tcp"
"""The network of all clients of FSx, which a network id ends with."""

PART = re.compile(r"([0-9]{1,3})|\[([0-9]{1,3})-([0-9]{1,3})\]", re.ASCII)
PARTS = 4
LARGEST_PART = 255

KEPT_AT_THE_START = 4
"""The first addresses of a subnet are AWS's, and so is the last (VPC user guide, subnet sizes)."""

Addresses = tuple[range, ...]
"""Addresses by the numbers that each part can have."""


def addresses_of(network_id: str) -> Addresses | None:
    """Return the addresses that a network id names; None where it is none."""
    parts = network_id.removesuffix(NETWORK).split(".")
    numbers = tuple(found for part in parts if (found := _numbers(part)))
    is_complete = network_id.endswith(NETWORK) and len(numbers) == len(parts) == PARTS
    return numbers if is_complete else None


def network_id_of(cidr: IPv4Network) -> str:
    """Return the network id of all addresses in a subnet."""
    parts = (
        str(part.start) if len(part) == 1 else f"[{part.start}-{part[-1]}]"
        for part in _between(cidr[0], cidr[-1])
    )
    return ".".join(parts) + NETWORK


def reach_every_node(named: Collection[Addresses], cidr: IPv4Network) -> bool:
    """Tell whether any address that a node can get in a subnet is among those `named`."""
    last_kept = cidr[min(KEPT_AT_THE_START, cidr.num_addresses) - 1]
    kept = (_between(cidr[0], last_kept), _between(cidr[-1], cidr[-1]))
    return _cover((*named, *kept), _between(cidr[0], cidr[-1]))


def name_one_node(named: Collection[Addresses], cidr: IPv4Network) -> bool:
    """Tell whether a single address in a subnet is `named`: somebody knows a node there."""
    subnet = _between(cidr[0], cidr[-1])
    singles = [each for each in named if all(len(part) == 1 for part in each)]
    return any(_cover([subnet], single) for single in singles)


def _numbers(part: str) -> range | None:
    """Return the numbers of one part: at least one, and none that addresses lack."""
    found = PART.fullmatch(part)
    if found is None:
        return None
    single, least, most = found.groups()
    numbers = range(int(single or least), int(single or most) + 1)
    return numbers if numbers and numbers[-1] <= LARGEST_PART else None


def _between(first: IPv4Address, last: IPv4Address) -> Addresses:
    """Return the addresses of an aligned block."""
    pairs = zip(first.packed, last.packed, strict=True)
    return tuple(range(least, most + 1) for least, most in pairs)


def _cover(named: Collection[Addresses], wanted: Addresses) -> bool:
    """Tell whether every one of the addresses `wanted` is `named`, looking at part after part."""
    if not wanted:
        return bool(named)
    rests = {tuple(each[1:] for each in named if number in each[0]) for number in wanted[0]}
    return all(_cover(rest, wanted[1:]) for rest in rests)
