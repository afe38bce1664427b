"""The parts of a VPC that allow or block a connection, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Any

ALL_PROTOCOLS = "-1"
ALL_PORTS = (0, 65535)
EVERYWHERE = "0.0.0.0/0"

PROTOCOL_NUMBERS = {"6": "tcp", "17": "udp"}
"""Protocol numbers in network ACLs (EC2 API reference, NetworkAclEntry)."""


@dataclass(frozen=True)
class Rule:
    """One rule of a security group: allowed ports and peers."""

    protocol: str
    first_port: int = ALL_PORTS[0]
    last_port: int = ALL_PORTS[1]
    groups: tuple[str, ...] = ()
    cidrs: tuple[str, ...] = ()
    prefix_lists: tuple[str, ...] = ()

    def is_for(self, protocol: str, port: int) -> bool:
        """Return whether the rule covers a port, regardless of the peer."""
        if self.protocol == ALL_PROTOCOLS:
            return True
        return self.protocol == protocol and self.first_port <= port <= self.last_port


@dataclass(frozen=True)
class Group:
    """A security group."""

    id: str
    ingress: tuple[Rule, ...] = ()
    egress: tuple[Rule, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules for both directions."""
        return self.ingress + self.egress


@dataclass(frozen=True)
class AclEntry:
    """An entry of a network ACL; the matching entry with the lowest number decides."""

    number: int
    is_egress: bool
    allows: bool
    protocol: str
    cidr: str
    first_port: int = ALL_PORTS[0]
    last_port: int = ALL_PORTS[1]


@dataclass(frozen=True)
class Acl:
    """A network ACL, which is stateless: replies need an entry, too."""

    id: str
    entries: tuple[AclEntry, ...] = ()


@dataclass(frozen=True)
class Route:
    """A route to a range, or to a prefix list by its id; inside the VPC its target is `local`."""

    destination: str
    target: str
    is_active: bool = True


@dataclass(frozen=True)
class RouteTable:
    """A route table."""

    id: str
    routes: tuple[Route, ...] = ()


@dataclass(frozen=True)
class Subnet:
    """A subnet with the ids of its network ACL and its route table."""

    id: str
    vpc_id: str
    cidr: str
    acl: str
    route_table: str

    @property
    def first_address(self) -> str:
        """The first address that AWS does not reserve (VPC user guide, Subnet sizing)."""
        return str(IPv4Network(self.cidr)[4])


@dataclass(frozen=True)
class Interface:
    """A network interface; a planned one has no id."""

    address: str
    subnet: str
    groups: tuple[str, ...]
    id: str = ""


@dataclass(frozen=True)
class Outside:
    """A target outside the VPC: the internet, or a service behind a gateway endpoint."""

    name: str
    prefix_list: str = ""


@dataclass(frozen=True)
class Endpoint:
    """A VPC endpoint; `service` is AWS's short name, such as `ecr.api`."""

    id: str
    service: str
    kind: str
    has_private_dns: bool
    interfaces: tuple[str, ...] = ()
    route_tables: tuple[str, ...] = ()
    policy: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Graph:
    """Parts of a VPC by their ids; `cidrs` are its blocks, `name_servers` those of its DHCP."""

    subnets: Mapping[str, Subnet] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    acls: Mapping[str, Acl] = field(default_factory=dict)
    route_tables: Mapping[str, RouteTable] = field(default_factory=dict)
    interfaces: Mapping[str, Interface] = field(default_factory=dict)
    endpoints: tuple[Endpoint, ...] = ()
    cidrs: tuple[str, ...] = ()
    name_servers: tuple[str, ...] = ()
