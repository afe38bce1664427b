"""The parts of a VPC that is there already: where they lie, their ways out, names and addresses."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.preflight import names
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.existing_network.network import NETWORK, ExistingNetwork
from slurmpod.preflight.subjects.stacks import will_be_made
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.resolve.network import SUBNETS
from slurmpod.rules.existing_network import HYPERPOD_VPC
from slurmpod.rules.existing_network import SUBNETS as OF_SUBNETS
from slurmpod.rules.registry import Finding

DNS = "https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html"


@PREFLIGHT.rule(
    "PRE-108",
    "Existing subnets have free addresses",
    why="What others have in a subnet takes its addresses, too. Nodes that get none fail, and the "
    "cluster with them.",
    fix="name a subnet with more free addresses, write efa-only, or take fewer nodes",
    source="https://docs.aws.amazon.com/vpc/latest/userguide/configure-subnets.html",
)
def _free_addresses(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network = facts[NETWORK]
    if network is None or not will_be_made(facts, resolved.stacks.cluster):
        return
    for index, named in enumerate(
        resolved.network.existing.subnets if resolved.network.existing else ()
    ):
        found = network.subnets.get(named.id)
        needed = next(
            each.addresses_needed for each in resolved.network.private if each.id == named.id
        )
        if found and found.free_addresses < needed:
            message = f"{named.id} has {found.free_addresses} free addresses; {needed} are needed"
            yield Finding((*SUBNETS, index, "id"), message)


@PREFLIGHT.rule(
    "PRE-301",
    "The VPC has all that is named of it",
    why="CreateCluster and FSx refuse subnets, groups and route tables of which the account has "
    "none, or which lie in another VPC.",
    fix="correct the id, or the VPC",
    source=HYPERPOD_VPC,
)
def _parts_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network, named = facts[NETWORK], resolved.network.existing
    if network is None or named is None:
        return
    for vpc_id, path in names.vpcs(resolved).items():
        if vpc_id in network.vpcs and network.vpcs[vpc_id] is None:
            yield Finding(path, f"the account has no {vpc_id} in {resolved.region}")
    for id_, path, vpc in _parts(resolved, network):
        if vpc is None:
            yield Finding(path, f"the account has no {id_} in {resolved.region}")
        elif vpc != named.vpc_id:
            yield Finding(path, f"{id_} lies in {vpc}")


def _parts(
    resolved: Resolved, network: ExistingNetwork
) -> Iterator[tuple[str, YamlPath, str | None]]:
    """Yield each part that was asked for, and the VPC in which it lies; None: there is none."""
    for id_, path in names.subnets(resolved).items():
        if id_ in network.subnets:
            subnet = network.subnets[id_]
            yield id_, path, subnet.vpc_id if subnet else None
    for id_, path in names.security_groups(resolved).items():
        if id_ in network.security_groups:
            group = network.security_groups[id_]
            yield id_, path, group.vpc_id if group else None
    for id_, path in names.route_tables(resolved).items():
        if id_ in network.route_tables:
            yield id_, path, network.route_tables[id_]


@PREFLIGHT.rule(
    "PRE-302",
    "Subnets lie where the environment says",
    why="Nodes, file systems and their addresses are placed by what the file says of a subnet.",
    fix="write what the subnet has",
    source=OF_SUBNETS,
)
def _subnets_lie_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network, named = facts[NETWORK], resolved.network.existing
    for index, each in enumerate(named.subnets if named and network else ()):
        found = network.subnets.get(each.id) if network else None
        if found is None:
            continue
        if each.zone not in (found.zone, found.zone_id):
            message = f"{each.id} lies in {found.zone} ({found.zone_id})"
            yield Finding((*SUBNETS, index, "zone"), message)
        if each.cidr and str(each.cidr) != found.cidr:
            yield Finding((*SUBNETS, index, "cidr"), f"{each.id} has the range {found.cidr}")


@PREFLIGHT.rule(
    "PRE-303",
    "Nodes find a way out",
    why="Nodes have no public address: an internet gateway leads nowhere from them. Without a NAT, "
    "a transit gateway or the like they reach AWS by endpoints only, and the internet not at all.",
    fix="route the subnet's traffic to a NAT gateway; suppress it if endpoints suffice",
    source="https://docs.aws.amazon.com/vpc/latest/userguide/vpc-nat-gateway.html",
    severity=Severity.WARNING,
)
def _way_out(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network = facts[NETWORK]
    if network is None or resolved.network.closed:
        return
    for id_, path in names.subnets(resolved).items():
        found = network.subnets.get(id_)
        if found and not found.default_route:
            yield Finding(path, f"{id_} has no route to 0.0.0.0/0")
        elif found and found.default_route.startswith("igw-"):
            yield Finding(path, f"{id_} is a public subnet: it leads to {found.default_route}")


@PREFLIGHT.rule(
    "PRE-306",
    "The VPC resolves names",
    why="File systems and endpoints are reached by names of the VPC's own DNS; AWS refuses "
    "endpoints with private names in a VPC whose DNS host names are off.",
    fix="switch DNS resolution and DNS hostnames on in the VPC",
    source=DNS,
)
def _names_are_resolved(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network = facts[NETWORK]
    for vpc_id, path in names.vpcs(resolved).items():
        vpc = network.vpcs.get(vpc_id) if network else None
        if vpc and not vpc.dns_support:
            yield Finding(path, f"DNS resolution is off in {vpc_id}")
        if vpc and not vpc.dns_hostnames and resolved.network.interface_endpoints:
            yield Finding(path, f"DNS hostnames are off in {vpc_id}, which endpoints need")
