"""Rules for a VPC that is there already: what has no effect in it, what cannot be, what to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.file_systems import all_file_systems
from slurmpod.rules.network_places import EXISTING
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.ways_out import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.problems import YamlPath
    from slurmpod.resolve import Resolved

EXISTING_NETWORK = Area("EXN", "An existing network")

SUBNETS = "https://docs.aws.amazon.com/vpc/latest/userguide/configure-subnets.html"
HYPERPOD_VPC = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_VpcConfig.html"

LUSTRE_ACCESS = (
    "https://docs.aws.amazon.com/fsx/latest/LustreGuide/limit-access-security-groups.html"
)

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
    "An existing VPC is taken as it is",
    why="slurmpod changes nothing in a VPC that it did not make: blocks, subnets, zones, NAT "
    "gateways and flow logs are those that it has. The key has no effect.",
    fix="remove the key, or remove existing",
    source="slurmpod/model/network.py",
)
def _taken_as_it_is(environment: Environment, _: Resolved) -> Iterator[Finding]:
    network = environment.network
    if network.existing is None:
        return
    for key in OF_A_NEW_VPC:
        if key in network.model_fields_set and getattr(network, key) not in (None, ()):
            yield Finding(("network", key), f"{key} is for a new VPC", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-002",
    "Each zone has one subnet at most",
    why="Nodes and file systems are placed by their zone: with two subnets there it would be open "
    "which one is meant.",
    fix="keep the subnet with more free addresses",
    source="slurmpod/model/network.py",
)
def _one_subnet_per_zone(environment: Environment, _: Resolved) -> Iterator[Finding]:
    existing = environment.network.existing
    zones = [subnet.zone for subnet in existing.subnets] if existing else []
    for index, zone in enumerate(zones):
        if zone in zones[:index]:
            yield Finding((*EXISTING, "subnets", index, "zone"), f"{zone} has a subnet already")


@EXISTING_NETWORK.rule(
    "EXN-003",
    "There is a subnet in the environment's zone",
    why="Nodes and file systems lie in network.zone unless said otherwise.",
    fix="add a subnet of that zone, or write the zone of a subnet, in the same form",
    source=HYPERPOD_VPC,
)
def _subnet_in_the_zone(environment: Environment, _: Resolved) -> Iterator[Finding]:
    network = environment.network
    if network.existing and network.zone not in {each.zone for each in network.existing.subnets}:
        yield Finding(("network", "zone"), f"none of the subnets lies in {network.zone}")


@EXISTING_NETWORK.rule(
    "EXN-004",
    "No id is written twice",
    why="A subnet lies in one zone, CloudFormation refuses endpoints that name a route table twice "
    "and an id that is repeated usually stands where another one should.",
    fix="remove the entry, or correct the id",
    source=SUBNETS,
)
def _ids_are_different(environment: Environment, _: Resolved) -> Iterator[Finding]:
    existing = environment.network.existing
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
    "Interface endpoints in an existing VPC are made knowingly",
    why="With private DNS the names of the services lead everyone in the VPC to the new endpoints, "
    "which let only identities of this account through; and AWS refuses a second endpoint for a "
    "service whose private names the VPC has already.",
    fix="write 'has_endpoints: true' where the VPC has them; accept it where they are to be made",
    source=INTERFACE_ENDPOINTS,
    severity=Severity.WARNING,
)
def _endpoints_are_made_knowingly(
    environment: Environment, resolved: Resolved
) -> Iterator[Finding]:
    network, count = environment.network, len(resolved.network.interface_endpoints)
    if network.existing and count:
        key = "closed" if network.closed else "interface_endpoints"
        message = f"{count} interface endpoints will be made in {network.existing.vpc_id}"
        yield Finding(("network", key), message, at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-006",
    "Only closed networks state that they have endpoints",
    why="In other networks no endpoints are made but those that interface_endpoints names: "
    "has_endpoints has no effect.",
    fix="write 'closed: true', or remove has_endpoints",
    source="slurmpod/resolve/network.py",
    severity=Severity.WARNING,
)
def _has_endpoints_is_for_closed(environment: Environment, _: Resolved) -> Iterator[Finding]:
    network = environment.network
    if network.existing and network.existing.has_endpoints and not network.closed:
        yield Finding((*EXISTING, "has_endpoints"), "the network is not closed", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-007",
    "Nodes of a closed network reach S3",
    why="New nodes fetch their scripts from S3, container images lie there. Without a gateway "
    "endpoint in the subnets' route tables nothing leads there from a closed network.",
    fix="write the route_table_ids of the subnets, or 'has_endpoints: true' where the VPC has a "
    "gateway endpoint for S3",
    source=GATEWAY_ENDPOINTS,
    severity=Severity.WARNING,
)
def _closed_reaches_s3(environment: Environment, _: Resolved) -> Iterator[Finding]:
    network = environment.network
    existing = network.existing
    if network.closed and existing and not (existing.route_table_ids or existing.has_endpoints):
        yield Finding(EXISTING, "no way to S3 is named", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-008",
    "A route table has one gateway endpoint for S3",
    why="has_endpoints says that the VPC has one. AWS refuses a second one in the same route "
    "table.",
    fix="remove route_table_ids, or has_endpoints",
    source=GATEWAY_ENDPOINTS,
)
def _one_s3_endpoint(environment: Environment, _: Resolved) -> Iterator[Finding]:
    existing = environment.network.existing
    if existing and existing.has_endpoints and existing.route_table_ids:
        yield Finding((*EXISTING, "route_table_ids"), "S3 has an endpoint already", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-009",
    "Existing file systems are in the nodes' network",
    why="A file system that is there already lies in a VPC that is there already. From a new VPC "
    "nothing leads to it until the two are connected, and nodes hang while they mount it.",
    fix="describe its VPC under network.existing; accept it where you connect the two VPCs",
    source=LUSTRE_ACCESS,
    severity=Severity.WARNING,
)
def _file_systems_are_reached(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.network.existing is None:
        for place in _existing_file_systems(environment):
            yield Finding(place, "the file system lies in another VPC than the nodes", at_key=True)


@EXISTING_NETWORK.rule(
    "EXN-010",
    "Existing file systems let the nodes in",
    why="The security group of a file system decides who mounts it. It cannot know the one that "
    "slurmpod makes for the nodes: Lustre needs ports 988 and 1018 to 1023 between the two, NFS "
    "2049.",
    fix="write security_group_ids with a group that both have; accept it where you let the new "
    "group in",
    source=LUSTRE_ACCESS,
    severity=Severity.WARNING,
)
def _file_systems_let_nodes_in(environment: Environment, _: Resolved) -> Iterator[Finding]:
    existing = environment.network.existing
    if existing and not existing.security_group_ids:
        for place in _existing_file_systems(environment):
            yield Finding(place, "the nodes have a new security group", at_key=True)


def _existing_file_systems(environment: Environment) -> Iterator[YamlPath]:
    for place, file_system in all_file_systems(environment):
        if file_system.existing:
            yield (*place, "existing")
