"""The classes of a resolved network: its subnets and their usable addresses."""

from __future__ import annotations

from ipaddress import IPv4Network

from slurmpod.environment.network import ExistingNetwork, FlowLogs
from slurmpod.problems import YamlPath
from slurmpod.value import Value

ADDRESSES_KEPT_BY_AWS = 5
"""AWS keeps the first four and the last address of every subnet (VPC user guide)."""


class Subnet(Value):
    """A subnet's zone and range, and the addresses in use when all nodes run.

    `cidr` is None for a user's subnet of unknown size; `path` is the setting that determines it.
    `id` is None for a new one.
    """

    zone: str
    path: YamlPath
    cidr: IPv4Network | None
    addresses_needed: int
    id: str | None = None

    @property
    def addresses_usable(self) -> int | None:
        """Number of usable addresses; None if the size is unknown."""
        if self.cidr is None:
            return None
        return max(self.cidr.num_addresses - ADDRESSES_KEPT_BY_AWS, 0)


class ResolvedNetwork(Value):
    """The VPC of an environment; `zone` is the default of nodes and file systems.

    `private` has one subnet for each zone, that of `zone` first; so does `public`, which is empty
    without slurmpod's NAT gateways. `interface_endpoints` are AWS's short names of the services
    with new endpoints, sorted; `s3_buckets` are additional buckets that nodes of a closed network
    can reach.
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
        """The zones with a private subnet, in the environment's notation."""
        return tuple(subnet.zone for subnet in self.private)

    @property
    def is_complete(self) -> bool:
        """Whether the network already exists."""
        existing = self.existing
        return bool(
            existing
            and existing.security_group_ids
            and not existing.route_table_ids
            and not self.interface_endpoints
        )

    @property
    def known_cidrs(self) -> tuple[IPv4Network, ...]:
        """The known ranges of the VPC; for an existing one, those of the given subnets."""
        if self.vpc_cidr:
            return (self.vpc_cidr, *self.secondary_cidrs)
        return tuple(subnet.cidr for subnet in self.private if subnet.cidr)
