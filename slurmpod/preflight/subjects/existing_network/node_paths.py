"""Connections that nodes need in an existing VPC, each with its obstacle. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address
from itertools import product
from urllib.parse import urlsplit

from embedded_aws.reachability.model import ALL_PROTOCOLS, EVERYWHERE, Graph, Group, Interface, Rule
from embedded_aws.reachability.paths import (
    EPHEMERAL,
    Verdict,
    reaches,
    reaches_any,
    reaches_service,
)
from slurmpod.preflight import names
from slurmpod.preflight.subjects.existing_network.vpc_graph import NetworkPaths
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.existing_network import EXISTING

NEW_GROUP = "the nodes' new group"
"""Placeholder for the security group that slurmpod creates if the environment names none."""

HTTPS = 443
LUSTRE_PORTS = (988, 1018, 1023)
"""Lustre's port, and the range of ports from which it connects (FSx user guide)."""

FROM_LUSTRE = (1018, 1023)
NFS_PORT = 2049
SLURM_PORTS = (6817, 6818, 6819)
"""slurmctld, slurmd and slurmdbd (slurm.conf(5) and slurmdbd.conf(5))."""

LDAP_PORTS = {"ldap": 389, "ldaps": 636}
SERVICES = ("s3", "logs", "ssm", "ssmmessages")
"""Services that every node calls during setup and login (HyperPod's prerequisites)."""


@dataclass(frozen=True)
class Stopped:
    """A blocked connection: the path in the file that needs it, and a description."""

    path: YamlPath
    what: str
    verdict: Verdict

    @property
    def message(self) -> str:
        """A sentence with the obstacle."""
        return f"{self.what}: {self.verdict.why}"


def to_file_systems(resolved: Resolved, paths: NetworkPaths) -> Iterator[Stopped]:
    """Yield existing file systems with a blocked connection to or from nodes."""
    graph, nodes = _with_nodes(resolved, paths)
    of_lustre = {each.settings.existing.id for each in resolved.lustre if each.settings.existing}
    for id_, path in names.file_systems(resolved).items():
        interfaces = paths.file_systems.get(id_, ())
        there = [graph.interfaces[each] for each in interfaces if each in graph.interfaces]
        find = _lustre if id_ in of_lustre else _nfs
        for verdict in find(graph, nodes, there):
            yield Stopped(path, f"{id_} cannot be mounted", verdict)
            break


def _lustre(
    graph: Graph, nodes: Sequence[Interface], servers: Sequence[Interface]
) -> Iterator[Verdict]:
    for node, server, port in product(nodes, servers, LUSTRE_PORTS):
        for source, target in ((node, server), (server, node)):
            yield from _stops(reaches(graph, source, target, port, replies=FROM_LUSTRE))


def _nfs(
    graph: Graph, nodes: Sequence[Interface], servers: Sequence[Interface]
) -> Iterator[Verdict]:
    for node, server in product(nodes, servers):
        yield from _stops(reaches(graph, node, server, NFS_PORT))


def among_nodes(resolved: Resolved, paths: NetworkPaths) -> Iterator[Stopped]:
    """Yield blocked Slurm connections, one for each pair of subnets."""
    graph, nodes = _with_nodes(resolved, paths)
    for one, other in product(nodes, nodes):
        verdicts = (reaches(graph, one, other, port) for port in SLURM_PORTS)
        srun = reaches_any(graph, one, other, _ports_of_srun(resolved))
        for verdict in (each for each in (*verdicts, srun) if not each.reached):
            what = f"Slurm is blocked from {one.subnet} to {other.subnet}"
            yield Stopped((*EXISTING, "subnets"), what, verdict)
            break


def _ports_of_srun(resolved: Resolved) -> tuple[int, int]:
    """Return the ports on which srun listens (slurm.conf(5), SrunPortRange)."""
    settings = {name.lower(): value for name, value in resolved.slurm.settings.items()}
    first, _, last = settings.get("srunportrange", "").partition("-")
    return (int(first), int(last)) if last else EPHEMERAL


def to_database(resolved: Resolved, paths: NetworkPaths) -> Iterator[Stopped]:
    """Yield blocked connections to the environment's own RDS server."""
    database = resolved.slurm.accounting_database
    graph, nodes = _with_nodes(resolved, paths)
    for node, server in product(nodes, paths.database):
        if database:
            verdict = reaches(graph, node, server, database.port)
            what = f"{database.endpoint} is not reached"
            path = ("slurm", "accounting_database", "endpoint")
            yield from (Stopped(path, what, each) for each in _stops(verdict))


def to_directory(resolved: Resolved, paths: NetworkPaths) -> Iterator[Stopped]:
    """Yield directory servers that nodes do not reach; only addresses can be checked."""
    directory = resolved.access.directory
    graph, nodes = _with_nodes(resolved, paths)
    for index, uri in enumerate(directory.uris if directory else ()):
        server, port = _server_of(uri)
        verdicts = (
            reaches(graph, node, server, port) if server else _lets_out(graph, node, port)
            for node in nodes
        )
        for verdict in (each for each in verdicts if not each.reached):
            path = ("access", "directory", "uris", index)
            yield Stopped(path, f"{uri} is not reached", verdict)
            break


def to_services(resolved: Resolved, paths: NetworkPaths) -> Iterator[Stopped]:
    """Yield AWS services that nodes do not reach, except those that get a new endpoint."""
    existing = resolved.network.existing
    will_be = {*resolved.network.interface_endpoints}
    if existing and existing.route_table_ids:
        will_be.add("s3")
    graph, nodes = _with_nodes(resolved, paths)
    stopped: dict[Verdict, list[str]] = {}
    for service in (each for each in SERVICES if each not in will_be):
        verdicts = (reaches_service(graph, node, service) for node in nodes)
        if verdict := next((each for each in verdicts if not each.reached), None):
            general = replace(verdict, why=verdict.why.removesuffix(f" to {service}"))
            stopped.setdefault(general, []).append(service)
    for verdict, services in stopped.items():
        what = f"nodes do not reach {', '.join(services)}"
        yield Stopped((*EXISTING, "subnets"), what, verdict)


def _stops(verdict: Verdict) -> Iterator[Verdict]:
    if not verdict.reached:
        yield verdict


def _server_of(uri: str) -> tuple[Interface | None, int]:
    """Return a server's address, or None if it has a name, and its port."""
    parts = urlsplit(uri)
    port = parts.port or LDAP_PORTS[parts.scheme]
    try:
        return Interface(str(IPv4Address(parts.hostname or "")), "", ()), port
    except AddressValueError:
        return None, port


def _lets_out(graph: Graph, node: Interface, port: int) -> Verdict:
    """Return whether the groups of a node allow outbound traffic to a port at any address."""
    rules = [rule for each in node.groups for rule in graph.groups[each].egress]
    if any(rule.is_for("tcp", port) for rule in rules):
        return Verdict()
    ids = ", ".join(node.groups)
    return Verdict(ids, f"{ids} allow no outbound tcp {port}")


def _with_nodes(resolved: Resolved, paths: NetworkPaths) -> tuple[Graph, tuple[Interface, ...]]:
    """Return the graph with the new nodes' group, and a node in each existing subnet."""
    graph = paths.graph
    named = tuple(each for each in names.security_groups(resolved) if each in graph.groups)
    if not names.security_groups(resolved):
        graph = replace(graph, groups={**graph.groups, NEW_GROUP: _new_group(resolved)})
        named = (NEW_GROUP,)
    subnets = [each for id_ in names.subnets(resolved) if (each := graph.subnets.get(id_))]
    nodes = tuple(Interface(each.first_address, each.id, named) for each in subnets)
    return graph, nodes


def _new_group(resolved: Resolved) -> Group:
    """Return the group that `stacks/network/node_security_group.py` creates."""
    itself = Rule(ALL_PROTOCOLS, groups=(NEW_GROUP,))
    if not resolved.network.closed:
        return Group(NEW_GROUP, (itself,), (itself, Rule(ALL_PROTOCOLS, cidrs=(EVERYWHERE,))))
    inside = Rule(ALL_PROTOCOLS, cidrs=tuple(map(str, resolved.network.known_cidrs)))
    return Group(
        NEW_GROUP, (itself,), (itself, inside, Rule("tcp", HTTPS, HTTPS, cidrs=(EVERYWHERE,)))
    )
