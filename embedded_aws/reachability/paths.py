"""One connection through a VPC: whether it is allowed, and what blocks it if not.

Sources: VPC user guide, "Security groups" (stateful: replies pass), "Network ACLs" (stateless, only
between subnets), "Route tables" (the most specific route decides). Networks beyond a gateway, such
as the other side of a peering, are unknown here and block nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from embedded_aws.reachability.model import (
    ALL_PROTOCOLS,
    EVERYWHERE,
    Acl,
    AclEntry,
    Graph,
    Interface,
    Outside,
    Route,
    Rule,
    Subnet,
)

EPHEMERAL = (32768, 60999)
"""The source ports of connections on Linux (net.ipv4.ip_local_port_range)."""

Target = Interface | Outside
Ports = tuple[int, int]


@dataclass(frozen=True)
class Verdict:
    """The id of what blocks a connection, and the reason; both empty if nothing does."""

    stopped_by: str = ""
    why: str = ""

    @property
    def reached(self) -> bool:
        """Whether the connection is allowed."""
        return not self.stopped_by


def reaches(
    graph: Graph,
    source: Interface,
    target: Target,
    port: int,
    protocol: str = "tcp",
    *,
    replies: Ports = EPHEMERAL,
) -> Verdict:
    """Return whether `source` can connect to a port of `target`, or what blocks it first.

    `replies` are the source ports: network ACLs also filter the replies to them.
    """
    asked = _Connection(graph, source, target, port, protocol, replies)
    return next(asked.stops(), Verdict())


def reaches_any(graph: Graph, source: Interface, target: Target, ports: Ports) -> Verdict:
    """Return whether at least one port of a range is reached over TCP, or what blocks the first.

    Only the ports at which a security group rule or a network ACL entry begins are checked, because
    the result changes only there.
    """
    begins = {rule.first_port for each in graph.groups.values() for rule in each.rules}
    entries = [entry for acl in graph.acls.values() for entry in acl.entries]
    begins |= {port for each in entries for port in (each.first_port, each.last_port + 1)}
    asked = [ports[0], *sorted(port for port in begins if ports[0] < port <= ports[1])]
    verdicts = [reaches(graph, source, target, port) for port in asked]
    return next((each for each in verdicts if each.reached), verdicts[0])


def reaches_service(graph: Graph, source: Interface, service: str) -> Verdict:
    """Return whether an AWS service is reached over HTTPS: by an endpoint, else publicly."""
    https = 443
    for endpoint in graph.endpoints:
        if endpoint.service == service and endpoint.has_private_dns:
            there = (graph.interfaces[each] for each in endpoint.interfaces)
            verdicts = (reaches(graph, source, each, https) for each in there)
            return next((each for each in verdicts if not each.reached), Verdict())
    return reaches(graph, source, Outside(service, _prefix_list(graph, source, service)), https)


def _prefix_list(graph: Graph, source: Interface, service: str) -> str:
    """Return the prefix list of a service's gateway endpoint, or an empty text."""
    gateways = {each.id for each in graph.endpoints if each.service == service}
    table = _table_routes(graph, source.subnet)
    return next((each.destination for each in table if each.target in gateways), "")


@dataclass(frozen=True)
class _Connection:
    graph: Graph
    source: Interface
    target: Target
    port: int
    protocol: str
    replies: Ports

    def stops(self) -> Iterator[Verdict]:
        """Yield everything that blocks the connection, along the path there and back."""
        target, known = self.target, isinstance(self.target, Interface)
        yield from self._by_groups("out", self.source, target)
        here = self.graph.subnets.get(self.source.subnet)
        there = self.graph.subnets.get(target.subnet) if isinstance(target, Interface) else None
        if known and here == there:
            yield from self._by_target_groups()
            return
        to_port, back = (self.port, self.port), self.replies
        yield from self._by_acl("out", here, target, to_port)
        yield from self._by_routes(here)
        yield from self._by_acl("in", there, self.source, to_port)
        yield from self._by_target_groups()
        yield from self._by_acl("out", there, self.source, back)
        yield from self._by_acl("in", here, target, back)

    def _by_target_groups(self) -> Iterator[Verdict]:
        if isinstance(self.target, Interface):
            yield from self._by_groups("in", self.target, self.source)

    def _by_groups(self, way: str, own: Interface, peer: Target) -> Iterator[Verdict]:
        groups = [self.graph.groups[each] for each in own.groups if each in self.graph.groups]
        if not groups or len(groups) < len(own.groups):
            return  # parts that are unknown may allow it
        rules = [
            rule for each in groups for rule in (each.egress if way == "out" else each.ingress)
        ]
        asked = (rule for rule in rules if rule.is_for(self.protocol, self.port))
        if not any(_is_about(rule, peer) for rule in asked):
            ids = ", ".join(own.groups)
            word = "to" if way == "out" else "from"
            lack = f"no {way}bound rule for {self.protocol} {self.port} {word} {_shown(peer)}"
            yield Verdict(ids, f"{ids} {'has' if len(groups) == 1 else 'have'} {lack}")

    def _by_acl(
        self, way: str, subnet: Subnet | None, peer: Target, ports: Ports
    ) -> Iterator[Verdict]:
        acl = self.graph.acls.get(subnet.acl) if subnet else None
        if subnet and acl and not _acl_allows(acl, way, self.protocol, ports, peer):
            shown = f"{self.protocol} {_shown_ports(ports)}"
            word = "to" if way == "out" else "from"
            yield Verdict(
                acl.id, f"{acl.id} of {subnet.id} lets no {shown} {way} {word} {_shown(peer)}"
            )

    def _by_routes(self, subnet: Subnet | None) -> Iterator[Verdict]:
        if subnet is None or subnet.route_table not in self.graph.route_tables:
            return
        table, where = subnet.route_table, _shown(self.target)
        route = _route(_table_routes(self.graph, subnet.id), self.target)
        if route is None:
            yield Verdict(table, f"{table} of {subnet.id} has no route to {where}")
        elif not route.is_active:
            yield Verdict(table, f"{table} of {subnet.id} leads to {route.target}, which is gone")
        elif route.target.startswith("igw-"):
            why = (
                f"{table} of {subnet.id} leads to {route.target}, and nodes have no public address"
            )
            yield Verdict(table, why)


def _table_routes(graph: Graph, subnet_id: str) -> tuple[Route, ...]:
    subnet = graph.subnets.get(subnet_id)
    table = graph.route_tables.get(subnet.route_table) if subnet else None
    return table.routes if table else ()


def _route(routes: Iterable[Route], target: Target) -> Route | None:
    """Return the most specific route; for a gateway endpoint, the route to its prefix list."""
    if isinstance(target, Outside):
        wanted = {target.prefix_list, EVERYWHERE} - {""}
        found = [each for each in routes if each.destination in wanted]
        return min(found, key=lambda each: each.destination == EVERYWHERE, default=None)
    found = [
        each
        for each in routes
        if "/" in each.destination and IPv4Address(target.address) in IPv4Network(each.destination)
    ]
    return max(found, key=lambda each: IPv4Network(each.destination).prefixlen, default=None)


def _is_about(rule: Rule, peer: Target) -> bool:
    if isinstance(peer, Outside):
        return EVERYWHERE in rule.cidrs or bool(peer.prefix_list and rule.prefix_lists)
    return bool(set(rule.groups) & set(peer.groups)) or any(_covers(c, peer) for c in rule.cidrs)


def _covers(cidr: str, peer: Target) -> bool:
    if isinstance(peer, Outside):
        return cidr == EVERYWHERE
    return IPv4Address(peer.address) in IPv4Network(cidr, strict=False)


def _acl_allows(acl: Acl, way: str, protocol: str, ports: Ports, peer: Target) -> bool:
    """Return whether all ports are allowed; the result changes only where an entry begins."""
    entries = sorted(
        (
            each
            for each in acl.entries
            if each.is_egress == (way == "out")
            and each.protocol in (ALL_PROTOCOLS, protocol)
            and _covers(each.cidr, peer)
        ),
        key=lambda each: each.number,
    )
    edges = {port for each in entries for port in (each.first_port, each.last_port + 1)}
    asked = {ports[0], *(port for port in edges if ports[0] <= port <= ports[1])}
    return all(_first_allows(entries, port) for port in asked)


def _first_allows(entries: Iterable[AclEntry], port: int) -> bool:
    matching = (each for each in entries if each.first_port <= port <= each.last_port)
    return next((each.allows for each in matching), False)


def _shown(peer: Target) -> str:
    if isinstance(peer, Outside):
        return peer.name
    return f"{peer.address} ({', '.join(peer.groups)})" if peer.groups else peer.address


def _shown_ports(ports: Ports) -> str:
    return str(ports[0]) if ports[0] == ports[1] else f"{ports[0]}-{ports[1]}"
