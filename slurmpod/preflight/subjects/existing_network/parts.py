"""The parts of an existing VPC: zones, egress, DNS and addresses."""

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
    why="Other resources in a subnet take addresses, too. Nodes without an address fail, and so "
    "does the cluster.",
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
    "The VPC has all parts that are named",
    why="CreateCluster and FSx refuse subnets, groups and route tables that do not exist or are "
    "in another VPC.",
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
            yield Finding(path, f"{id_} is in {vpc}")


def _parts(
    resolved: Resolved, network: ExistingNetwork
) -> Iterator[tuple[str, YamlPath, str | None]]:
    """Yield each requested part with its VPC, or None if it does not exist."""
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
    "Subnets match the environment",
    why="Nodes, file systems and their addresses are placed by the file's description of a subnet.",
    fix="write the subnet's real value",
    source=OF_SUBNETS,
)
def _subnets_lie_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network, named = facts[NETWORK], resolved.network.existing
    for index, each in enumerate(named.subnets if named and network else ()):
        found = network.subnets.get(each.id) if network else None
        if found is None:
            continue
        if each.zone not in (found.zone, found.zone_id):
            message = f"{each.id} is in {found.zone} ({found.zone_id})"
            yield Finding((*SUBNETS, index, "zone"), message)
        if each.cidr and str(each.cidr) != found.cidr:
            yield Finding((*SUBNETS, index, "cidr"), f"{each.id} has the range {found.cidr}")


@PREFLIGHT.rule(
    "PRE-303",
    "Nodes have egress",
    why="Nodes have no public address, so an internet gateway does not work for them. Without a "
    "NAT, a transit gateway or the like they reach AWS only through endpoints, and the "
    "internet not at all.",
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
            yield Finding(
                path, f"{id_} is a public subnet: it has a route to {found.default_route}"
            )


@PREFLIGHT.rule(
    "PRE-306",
    "The VPC resolves names",
    why="File systems and endpoints have names in the VPC's DNS; AWS refuses endpoints with "
    "private names in a VPC without DNS hostnames.",
    fix="enable DNS resolution and DNS hostnames in the VPC",
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
