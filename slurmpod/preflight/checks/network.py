"""Checks of a VPC that is there already: its parts, its ways out, what its groups let through."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from ipaddress import IPv4Network

from embedded_aws.reachability.model import ALL_PROTOCOLS, Rule
from slurmpod.environment.cluster import Role
from slurmpod.environment.network import ExistingNetwork as NamedNetwork
from slurmpod.preflight import names
from slurmpod.preflight.facts import ExistingNetwork, Facts, FileSystem, SecurityGroup
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.resolve.network import SUBNETS, services_of_a_closed_network
from slurmpod.rules.egress import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS
from slurmpod.rules.existing_network import (
    EXISTING,
    HYPERPOD_VPC,
    LUSTRE_ACCESS,
)
from slurmpod.rules.existing_network import (
    SUBNETS as OF_SUBNETS,
)
from slurmpod.rules.groups import has_efa
from slurmpod.rules.registry import Finding

EFA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html"
DNS = "https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html"


@PREFLIGHT.rule(
    "PRE-301",
    "The VPC has all that is named of it",
    why="CreateCluster and FSx refuse subnets, groups and route tables of which the account has "
    "none, or which lie in another VPC.",
    fix="correct the id, or the VPC",
    source=HYPERPOD_VPC,
)
def _parts_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    network, named = facts.network, resolved.network.existing
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
    named = resolved.network.existing
    for index, each in enumerate(named.subnets if named and facts.network else ()):
        found = facts.network.subnets.get(each.id) if facts.network else None
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
    if facts.network is None or resolved.network.closed:
        return
    for id_, path in names.subnets(resolved).items():
        found = facts.network.subnets.get(id_)
        if found and not found.default_route:
            yield Finding(path, f"{id_} has no route to 0.0.0.0/0")
        elif found and found.default_route.startswith("igw-"):
            yield Finding(path, f"{id_} is a public subnet: it leads to {found.default_route}")


@PREFLIGHT.rule(
    "PRE-304",
    "Security groups let nodes reach each other",
    why="Slurm, Lustre and NFS use many ports between nodes, and FSx refuses a file system whose "
    "group does not let Lustre through. HyperPod wants all traffic within a group.",
    fix="let the group in from itself, and out to itself or everywhere, with all protocols",
    source=LUSTRE_ACCESS,
)
def _members_reach_each_other(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    groups = _groups(resolved, facts)
    ranges = _ranges(resolved, facts)
    if groups and not (
        any(_lets_all(each.ingress, groups, ranges) for each in groups.values())
        and any(_lets_all(each.egress, groups, ranges) for each in groups.values())
    ):
        message = f"{', '.join(groups)} do not let all traffic through between their members"
        yield Finding((*EXISTING, "security_group_ids"), message)


@PREFLIGHT.rule(
    "PRE-305",
    "Security groups let EFA through",
    why="EFA needs rules for all traffic from and to the group itself; a rule for 0.0.0.0/0 does "
    "not count. Without them jobs over several nodes hang.",
    fix="add the group itself, with all protocols, to its own rules in both directions",
    source=EFA,
)
def _efa_passes(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    groups = _groups(resolved, facts)
    if not groups or not any(has_efa(each) for each in resolved.groups_with(Role.WORKER)):
        return
    if not any(
        _names_itself(id_, each.ingress) and _names_itself(id_, each.egress)
        for id_, each in groups.items()
    ):
        message = "no group has all traffic from and to itself in its rules"
        yield Finding((*EXISTING, "security_group_ids"), message)


def _groups(resolved: Resolved, facts: Facts) -> dict[str, SecurityGroup]:
    found = facts.network.security_groups if facts.network else {}
    named = names.security_groups(resolved)
    return {id_: each for id_ in named if (each := found.get(id_))}


def _ranges(resolved: Resolved, facts: Facts) -> list[IPv4Network]:
    found = facts.network.subnets if facts.network else {}
    named = names.subnets(resolved)
    return [IPv4Network(each.cidr) for id_ in named if (each := found.get(id_))]


def _lets_all(
    rules: Collection[Rule], groups: Collection[str], ranges: Collection[IPv4Network]
) -> bool:
    """Return whether rules let everything through to members of the groups, or to their subnets."""
    whole = [rule for rule in rules if rule.protocol == ALL_PROTOCOLS]
    by_group = any(set(rule.groups) & set(groups) for rule in whole)
    let = [IPv4Network(cidr) for rule in whole for cidr in rule.cidrs]
    return by_group or all(any(each.subnet_of(cidr) for cidr in let) for each in ranges)


def _names_itself(id_: str, rules: Collection[Rule]) -> bool:
    return any(rule.protocol == ALL_PROTOCOLS and id_ in rule.groups for rule in rules)


@PREFLIGHT.rule(
    "PRE-306",
    "The VPC resolves names",
    why="File systems and endpoints are reached by names of the VPC's own DNS; AWS refuses "
    "endpoints with private names in a VPC whose DNS host names are off.",
    fix="switch DNS resolution and DNS hostnames on in the VPC",
    source=DNS,
)
def _names_are_resolved(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for vpc_id, path in names.vpcs(resolved).items():
        vpc = facts.network.vpcs.get(vpc_id) if facts.network else None
        if vpc and not vpc.dns_support:
            yield Finding(path, f"DNS resolution is off in {vpc_id}")
        if vpc and not vpc.dns_hostnames and resolved.network.interface_endpoints:
            yield Finding(path, f"DNS hostnames are off in {vpc_id}, which endpoints need")


@PREFLIGHT.rule(
    "PRE-307",
    "The VPC has the endpoints that it is said to have",
    why="Nodes of a closed network reach AWS through endpoints only.",
    fix="make the endpoints, or remove has_endpoints so that slurmpod makes them",
    source=INTERFACE_ENDPOINTS,
)
def _endpoints_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    named = resolved.network.existing
    if facts.network is None or not (named and named.has_endpoints and resolved.network.closed):
        return
    there = {each.service for each in facts.network.endpoints}
    wanted = services_of_a_closed_network(serves_models=resolved.endpoint is not None)
    lacking = sorted({*wanted, "s3"} - there)
    if lacking:
        message = f"{named.vpc_id} has no endpoints for {', '.join(lacking)}"
        yield Finding((*EXISTING, "has_endpoints"), message)


@PREFLIGHT.rule(
    "PRE-308",
    "No endpoint is made twice",
    why="AWS refuses a second endpoint whose private name the VPC has, and a second gateway for "
    "S3 in a route table.",
    fix="take the service out of interface_endpoints, or write has_endpoints",
    source=GATEWAY_ENDPOINTS,
)
def _endpoints_are_new(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts.network is None or not facts.will_be_made(resolved.stacks.network):
        return
    there = {each.service for each in facts.network.endpoints if each.has_private_dns}
    twice = sorted(there & set(resolved.network.interface_endpoints))
    if twice:
        key = "closed" if resolved.network.closed else "interface_endpoints"
        yield Finding(("network", key), f"the VPC has endpoints for {', '.join(twice)} already")


@PREFLIGHT.rule(
    "PRE-309",
    "Existing file systems are there",
    why="Nodes hang while they mount a file system that is not there, not available, or lies in a "
    "VPC to which nothing leads.",
    fix="correct the id and the mount name (aws fsx describe-file-systems)",
    source="https://docs.aws.amazon.com/fsx/latest/LustreGuide/mount-troubleshooting.html",
)
def _file_systems_can_be_mounted(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    held = {each.id: each for each in facts.file_systems or ()}
    if facts.file_systems is None:
        return
    for id_, mount_name, path in _existing_file_systems(resolved):
        found = held.get(id_)
        if found is None:
            yield Finding((*path, "id"), f"the account has no file system {id_}")
        else:
            yield from _unfit(found, mount_name, path, resolved.network.existing)


def _existing_file_systems(resolved: Resolved) -> Iterator[tuple[str, str, YamlPath]]:
    for lustre in resolved.lustre:
        if existing := lustre.settings.existing:
            yield existing.id, existing.mount_name, (*lustre.path, "existing")
    if resolved.openzfs and (openzfs := resolved.openzfs.settings.existing):
        yield openzfs.id, "", (*resolved.openzfs.path, "existing")


def _unfit(
    found: FileSystem, mount_name: str, path: YamlPath, network: NamedNetwork | None
) -> Iterator[Finding]:
    if found.lifecycle not in {"AVAILABLE", "UPDATING"}:
        yield Finding((*path, "id"), f"{found.id} is {found.lifecycle}")
    if found.mount_name != mount_name:
        yield Finding((*path, "mount_name"), f"{found.id} has the mount name {found.mount_name}")
    if network and found.vpc_id != network.vpc_id:
        yield Finding((*path, "id"), f"{found.id} lies in {found.vpc_id}, not in {network.vpc_id}")
