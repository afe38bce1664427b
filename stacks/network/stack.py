"""The network of an environment: a new VPC, or the missing parts of an existing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from constructs import Construct

from slurmpod.environment.network import ExistingNetwork
from slurmpod.request.references import SecurityGroupReference, SubnetReference, VpcReference
from slurmpod.resolve import Resolved, ResolvedNetwork
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.network.endpoints import InterfaceEndpoints, S3Endpoint
from slurmpod_cdk.network.node_security_group import NodeSecurityGroup
from slurmpod_cdk.network.vpc import ClusterVpc


@dataclass(frozen=True)
class NetworkIds:
    """An existing VPC with its subnets by zone and its security groups, if any."""

    vpc_id: str
    subnet_ids: Mapping[str, str]
    security_group_ids: list[str]


@dataclass(frozen=True)
class ClusterNetwork:
    """The network of nodes and file systems: known ids, or tokens of `stack`.

    `stack` is None for an existing network that needs no additions.
    """

    vpc_id: str
    subnet_ids: Mapping[str, str]
    security_group_ids: list[str]
    nat_gateway_ids: Mapping[str, str]
    """By zone; empty in an existing network."""
    stack: NetworkStack | None

    def subnet(self, zone: str) -> SubnetReference:
        """Return the private subnet of a zone, given as in the environment."""
        return SubnetReference(self.subnet_ids[zone])

    @property
    def security_groups(self) -> list[SecurityGroupReference]:
        """The security groups of nodes and file systems."""
        return [SecurityGroupReference(id_) for id_ in self.security_group_ids]


def network_of(
    scope: Construct, resolved: Resolved, given: NetworkIds | None = None
) -> ClusterNetwork:
    """Return the network of an environment; missing parts are created in a stack of `scope`.

    The network `given` by an app has tokens as ids, which the resolved network cannot contain.
    """
    existing = resolved.network.existing
    ids = given or (_written_ids(existing) if existing else None)
    if resolved.stacks.network:
        stack = NetworkStack(scope, resolved=resolved, ids=ids)
        return ClusterNetwork(
            stack.vpc_id,
            stack.subnet_ids,
            stack.security_group_ids,
            stack.nat_gateway_ids,
            stack,
        )
    assert ids is not None, "only an existing network needs no stack"  # noqa: S101
    return ClusterNetwork(ids.vpc_id, ids.subnet_ids, ids.security_group_ids, {}, None)


class NetworkStack(EnvironmentStack):
    """The network of nodes and file systems. Subnets cannot change while a cluster runs."""

    def __init__(self, scope: Construct, *, resolved: Resolved, ids: NetworkIds | None) -> None:
        super().__init__(
            scope,
            str(resolved.stacks.network),
            resolved=resolved,
            description=_description(resolved),
        )
        network = resolved.network
        if ids:
            self._use(ids, resolved)
        else:
            self._make(resolved)
        self.security_group_ids = (ids.security_group_ids if ids else []) or [
            self._make_security_group(network)
        ]
        if network.interface_endpoints:
            InterfaceEndpoints(
                self,
                "Endpoints",
                resolved=resolved,
                vpc_id=self.vpc_id,
                subnet_ids=list(self.subnet_ids.values()),
                client_group_ids=self.security_group_ids,
            )

    def _make_security_group(self, network: ResolvedNetwork) -> str:
        cidrs = [str(cidr) for cidr in network.known_cidrs] if network.closed else None
        group = NodeSecurityGroup(self, "Nodes", vpc=VpcReference(self.vpc_id), closed_cidrs=cidrs)
        return group.security_group_id

    def _make(self, resolved: Resolved) -> None:
        vpc = ClusterVpc(self, "Network", resolved=resolved)
        self.vpc_id = vpc.vpc_id
        self.subnet_ids: Mapping[str, str] = vpc.private_subnet_ids
        self.nat_gateway_ids: Mapping[str, str] = vpc.nat_gateway_ids

    def _use(self, ids: NetworkIds, resolved: Resolved) -> None:
        self.vpc_id = ids.vpc_id
        self.subnet_ids = ids.subnet_ids
        self.nat_gateway_ids = {}
        existing = resolved.network.existing
        if existing and existing.route_table_ids:
            S3Endpoint(
                self,
                "S3",
                resolved=resolved,
                vpc_id=ids.vpc_id,
                route_table_ids=list(existing.route_table_ids),
            )


def _description(resolved: Resolved) -> str:
    what = "Endpoints and security group" if resolved.network.existing else "VPC and security group"
    return f"{what} of the HyperPod cluster {resolved.name}"


def _written_ids(existing: ExistingNetwork) -> NetworkIds:
    subnet_ids = {subnet.zone: subnet.id for subnet in existing.subnets}
    return NetworkIds(existing.vpc_id, subnet_ids, list(existing.security_group_ids))
