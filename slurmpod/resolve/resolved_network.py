"""The shapes of a resolved network: its subnets, and how many addresses AWS leaves in them."""

from __future__ import annotations

from ipaddress import IPv4Network

from slurmpod.environment.network import ExistingNetwork, FlowLogs
from slurmpod.problems import YamlPath
from slurmpod.value import Value

ADDRESSES_KEPT_BY_AWS = 5
"""AWS keeps the first four and the last address of every subnet (VPC user guide)."""


class Subnet(Value):
    """A subnet's zone and addresses, and how many of these are taken when all nodes run.

    `cidr` is None for one of the user's own whose size is not stated; `path` is the place in the
    file that decides about it. `id` is None for a new one.
    """

    zone: str
    path: YamlPath
    cidr: IPv4Network | None
    addresses_needed: int
    id: str | None = None

    @property
    def addresses_usable(self) -> int | None:
        """Addresses that AWS leaves to its user; None where the size is not known."""
        if self.cidr is None:
            return None
        return max(self.cidr.num_addresses - ADDRESSES_KEPT_BY_AWS, 0)


class ResolvedNetwork(Value):
    """The VPC of an environment; `zone` is that of nodes and file systems unless said otherwise.

    `private` has one subnet for each zone, that of `zone` first; so has `public`, or it is empty in
    a network without NAT gateways of ours. `interface_endpoints` are AWS's short names of the
    services for which endpoints are made, sorted; `s3_buckets` are those that a closed network
    lets nodes reach beside the ones that the environment uses.
    """

    zone: str
    existing: ExistingNetwork | None
    vpc_cidr: IPv4Network | None
    secondary_cidrs: tuple[IPv4Network, ...]
    public: tuple[Subnet, ...]
    private: tuple[Subnet, ...]
    nat_gateways: int
    closed: bool
    interface_endpoints: tuple[str, ...]
    s3_buckets: tuple[str, ...]
    flow_logs: FlowLogs

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones with a private subnet, as the environment names them."""
        return tuple(subnet.zone for subnet in self.private)

    @property
    def is_complete(self) -> bool:
        """Whether nothing has to be made: all of it is there already."""
        existing = self.existing
        return bool(
            existing
            and existing.security_group_ids
            and not existing.route_table_ids
            and not self.interface_endpoints
        )

    @property
    def known_cidrs(self) -> tuple[IPv4Network, ...]:
        """The ranges that are known of the VPC: of an existing one, those of the given subnets."""
        if self.vpc_cidr:
            return (self.vpc_cidr, *self.secondary_cidrs)
        return tuple(subnet.cidr for subnet in self.private if subnet.cidr)
