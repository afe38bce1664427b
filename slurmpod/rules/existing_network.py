"""Rules for an existing VPC: settings without effect, and impossible ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv4Network

from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.egress import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS
from slurmpod.rules.file_systems import all_file_systems
from slurmpod.rules.registry import Area, Finding

EXISTING_NETWORK = Area("EXN", "An existing network", reads=("network",))

SUBNETS = "https://docs.aws.amazon.com/vpc/latest/userguide/configure-subnets.html"
HYPERPOD_VPC = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_VpcConfig.html"

LUSTRE_ACCESS = (
    "https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html"
)

EXISTING = ("network", "existing")

OF_A_NEW_VPC = (
    "vpc_cidr",
    "secondary_cidrs",
    "private_subnet_cidr",
    "other_zones",
    "nat",
    "flow_logs",
)
LISTS_OF_IDS = ("subnets", "security_group_ids", "route_table_ids")


@EXISTING_NETWORK.rule(
    "EXN-001",
    "An existing VPC is used unchanged",
    why="slurmpod does not change a VPC that it did not create, including its blocks, subnets, "
    "zones, NAT gateways and flow logs. The key has no effect.",
    fix="remove the key, or remove existing",
    source="slurmpod/environment/network.py",
)
def _taken_as_it_is(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    if network.existing is None:
        return
    for key in OF_A_NEW_VPC:
        if key in network.model_fields_set and getattr(network, key) not in (None, ()):
            yield Finding(("network", key), f"{key} is for a new VPC", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-002",
    "Each zone has one subnet at most",
    why="Nodes and file systems are placed by their zone: with two subnets in one it would be "
    "ambiguous.",
    fix="keep the subnet with more free addresses",
    source="slurmpod/environment/network.py",
)
def _one_subnet_per_zone(resolved: Resolved) -> Iterator[Finding]:
    existing = resolved.network.existing
    zones = [subnet.zone for subnet in existing.subnets] if existing else []
    for index, zone in enumerate(zones):
        if zone in zones[:index]:
            yield Finding((*EXISTING, "subnets", index, "zone"), f"{zone} has a subnet already")


@EXISTING_NETWORK.rule(
    "EXN-003",
    "There is a subnet in the environment's zone",
    why="Nodes and file systems are in network.zone by default.",
    fix="add a subnet of that zone, or write the zone of a subnet, in the same form",
    source=HYPERPOD_VPC,
)
def _subnet_in_the_zone(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    if network.existing and network.zone not in {each.zone for each in network.existing.subnets}:
        yield Finding(("network", "zone"), f"none of the subnets is in {network.zone}")


@EXISTING_NETWORK.rule(
    "EXN-004",
    "No id is written twice",
    why="A subnet is in one zone, CloudFormation refuses endpoints that name a route table twice, "
    "and a repeated id is usually a mistake for another one.",
    fix="remove the entry, or correct the id",
    source=SUBNETS,
)
def _ids_are_different(resolved: Resolved) -> Iterator[Finding]:
    existing = resolved.network.existing
    if existing is None:
        return
    for key in LISTS_OF_IDS:
        ids = [getattr(entry, "id", entry) for entry in getattr(existing, key)]
        for index, id_ in enumerate(ids):
            if id_ in ids[:index]:
                last = ("id",) if key == "subnets" else ()
                yield Finding((*EXISTING, key, index, *last), f"'{id_}' is written twice")


@EXISTING_NETWORK.rule(
    "EXN-005",
    "Interface endpoints in an existing VPC are created on purpose",
    why="With private DNS everyone in the VPC uses the new endpoints, which allow only "
    "identities of this account; and AWS refuses a second endpoint for a service with the "
    "same private names.",
    fix="write 'has_endpoints: true' where the VPC has them; suppress it if slurmpod should "
    "create them",
    source=INTERFACE_ENDPOINTS,
    severity=Severity.WARNING,
    reads=("monitoring", "network", "services"),
)
def _endpoints_are_made_knowingly(resolved: Resolved) -> Iterator[Finding]:
    network, count = resolved.environment.network, len(resolved.network.interface_endpoints)
    if network.existing and count:
        key = "closed" if network.closed else "interface_endpoints"
        message = f"{count} interface endpoints will be created in {network.existing.vpc_id}"
        yield Finding(("network", key), message, at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-006",
    "Only closed networks have has_endpoints",
    why="In other networks only endpoints that interface_endpoints names are created: "
    "has_endpoints has no effect.",
    fix="write 'closed: true', or remove has_endpoints",
    source="slurmpod/resolve/network.py",
    severity=Severity.WARNING,
)
def _has_endpoints_is_for_closed(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    if network.existing and network.existing.has_endpoints and not network.closed:
        yield Finding((*EXISTING, "has_endpoints"), "the network is not closed", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-007",
    "Nodes of a closed network reach S3",
    why="New nodes fetch their scripts and container images from S3. Without a gateway endpoint in "
    "the subnets' route tables, a closed network has no route to S3.",
    fix="write the route_table_ids of the subnets, or 'has_endpoints: true' where the VPC has a "
    "gateway endpoint for S3",
    source=GATEWAY_ENDPOINTS,
    severity=Severity.WARNING,
)
def _closed_reaches_s3(resolved: Resolved) -> Iterator[Finding]:
    network = resolved.environment.network
    existing = network.existing
    if network.closed and existing and not (existing.route_table_ids or existing.has_endpoints):
        yield Finding(EXISTING, "there is no route to S3", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-008",
    "A route table has one gateway endpoint for S3",
    why="has_endpoints says that the VPC has one. AWS refuses a second one in the same route "
    "table.",
    fix="remove route_table_ids, or has_endpoints",
    source=GATEWAY_ENDPOINTS,
)
def _one_s3_endpoint(resolved: Resolved) -> Iterator[Finding]:
    existing = resolved.network.existing
    if existing and existing.has_endpoints and existing.route_table_ids:
        yield Finding((*EXISTING, "route_table_ids"), "S3 already has an endpoint", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-009",
    "Existing file systems are in the nodes' network",
    why="An existing file system is in an existing VPC. A new VPC has no route to it until you "
    "connect the two, and nodes hang while mounting it.",
    fix="describe its VPC under network.existing; suppress it if you connect the two VPCs",
    source=LUSTRE_ACCESS,
    severity=Severity.WARNING,
    reads=("network", "storage"),
)
def _file_systems_are_reached(resolved: Resolved) -> Iterator[Finding]:
    if resolved.network.existing is None:
        for place in _existing_file_systems(resolved):
            yield Finding(place, "the file system is in another VPC than the nodes", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-010",
    "Existing file systems allow the nodes",
    why="The security group of a file system decides who can mount it. It does not allow the "
    "new group of the nodes: Lustre needs ports 988 and 1018 to 1023 between the two, NFS 2049.",
    fix="write security_group_ids with a group that both have; suppress it if you allow the new "
    "group",
    source=LUSTRE_ACCESS,
    severity=Severity.WARNING,
    reads=("network", "storage"),
)
def _file_systems_let_nodes_in(resolved: Resolved) -> Iterator[Finding]:
    existing = resolved.network.existing
    if existing and not existing.security_group_ids:
        for place in _existing_file_systems(resolved):
            yield Finding(place, "the nodes have a new security group", at_key=True)


def _existing_file_systems(resolved: Resolved) -> Iterator[YamlPath]:
    for file_system in all_file_systems(resolved):
        if file_system.settings.existing:
            yield (*file_system.path, "existing")


NETWORK = "@tcp"
"""The network type of all clients of FSx, the end of a network id."""

PART = re.compile(r"([0-9]{1,3})|\[([0-9]{1,3})-([0-9]{1,3})\]", re.ASCII)
PARTS = 4
LARGEST_PART = 255

KEPT_AT_THE_START = 4
"""AWS reserves the first addresses of a subnet, and the last (VPC user guide, subnet sizes)."""

Addresses = tuple[range, ...]
"""A set of addresses: the possible numbers of each part."""


def addresses_of(network_id: str) -> Addresses | None:
    """Return the addresses of a network id; None if it is not one."""
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
    """Return whether any address available to nodes in a subnet is `named`."""
    last_kept = cidr[min(KEPT_AT_THE_START, cidr.num_addresses) - 1]
    kept = (_between(cidr[0], last_kept), _between(cidr[-1], cidr[-1]))
    return _cover((*named, *kept), _between(cidr[0], cidr[-1]))


def name_one_node(named: Collection[Addresses], cidr: IPv4Network) -> bool:
    """Return whether a single address in a subnet is `named`, which refers to a known node."""
    subnet = _between(cidr[0], cidr[-1])
    singles = [each for each in named if all(len(part) == 1 for part in each)]
    return any(_cover([subnet], single) for single in singles)


def _numbers(part: str) -> range | None:
    """Return the numbers of one part: at least one, all valid in addresses."""
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
    """Return whether every one of the addresses `wanted` is `named`, looking at part after part."""
    if not wanted:
        return bool(named)
    rests = {tuple(each[1:] for each in named if number in each[0]) for number in wanted[0]}
    return all(_cover(rest, wanted[1:]) for rest in rests)
